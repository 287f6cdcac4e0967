import { describe, expect, it } from 'vitest';

import { FIGURES, measureStructure, structureProblems } from '../../scripts/structure.ts';

describe('the structure of the sources', () => {
  it('stays within the limits of scripts/structure.ts', () => {
    const figures = measureStructure();
    expect(figures.filesPer10k.value).toBeGreaterThan(10);
    expect(structureProblems(figures)).toEqual([]);
  });

  it('has limits that are not below their targets', () => {
    const below = Object.values(FIGURES).filter(({ limit, target }) => limit < target);
    expect(below).toEqual([]);
  });

  it('is reported with the rule, the value and the remedy', () => {
    const [problem] = structureProblems({ longest: { value: 701, places: ['src/a.ts'] } });
    expect(problem).toBe(
      'lines of the longest file: 701, and 700 are allowed. Split it where a second idea begins: one file, one whole idea. `npm run structure -- --list longest` lists them.',
    );
  });
});
