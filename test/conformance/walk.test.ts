import { expect, it } from 'vitest';

import { measureWalk, structureProblems } from '../../scripts/structure.ts';

it('the walk of a plain streamed request stays within the limits of scripts/structure.ts', async () => {
  const figures = await measureWalk();
  expect(figures.walkFiles.value).toBeGreaterThan(50);
  expect(structureProblems(figures)).toEqual([]);
});
