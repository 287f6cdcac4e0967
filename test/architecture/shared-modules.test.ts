import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const files = globSync('{src,test}/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name !== 'test/architecture/shared-modules.test.ts')
  .map((name) => ({ name, text: readFileSync(path.join(ROOT, name), 'utf8') }));

const withText = (pattern: RegExp): readonly string[] =>
  files.filter(({ text }) => pattern.test(text)).map(({ name }) => name);

/** Test files run one after the other in a process and share its modules (`vitest.config.ts`). */
describe('modules that test files share', () => {
  it('register no hooks when they are loaded: only the first file would have them', () => {
    const loaded = withText(/^(before|after)(Each|All)\(/m).filter((name) => !name.endsWith('.test.ts'));
    // The long form of the soak is a file that only its own configuration runs.
    expect(
      loaded,
      'A shared module registers no hook when it is loaded. Put the hook into a function that each test file calls.',
    ).toEqual(['test/soak/thousands.ts']);
  });

  it('are replaced only by files that have a process of their own', () => {
    const replacing = withText(/\bvi\.(mock|doMock)\(/);
    expect(
      replacing.filter((name) => !name.startsWith('test/faults/')),
      'Only files in test/faults replace modules, because each has a process of its own. Pass a fake in, or move the test there.',
    ).toEqual([]);
  });
});

describe('a test that a machine may not be able to run', () => {
  it('says what it needs', () => {
    const silent = withText(/\.(skipIf|runIf)\(/).filter(
      (name) => !/\bneeds\b/.test(files.find((file) => file.name === name)?.text ?? ''),
    );
    expect(
      silent,
      'A test that may be skipped says what it needs: add `{ meta: { needs: … } }` to its skipIf or runIf.',
    ).toEqual([]);
  });
});
