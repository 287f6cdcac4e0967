import { execFile } from 'node:child_process';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { skipLines } from './skip-report.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Runs the tests of `skipped` in a clone that has no API documents; resolves to what is printed. */
const runSkipped = async (): Promise<string> => {
  const words = ['run', '--config', 'test/support/skipped/vitest.config.ts', '--reporter=verbose'];
  const env = { ...process.env, SHARED_DIR: '/nowhere', CI: '', NO_COLOR: '1' };
  return await new Promise((resolve) => {
    execFile(
      path.join(ROOT, 'node_modules/.bin/vitest'),
      [...words, '--reporter=./test/support/skip-report.ts'],
      { cwd: ROOT, env },
      (_, stdout) => resolve(stdout),
    );
  });
};

describe('skipped tests', () => {
  it('are reported as skipped, with the reason; a failure stays a failure', async () => {
    const printed = await runSkipped();
    expect(printed).toContain('↓ test/support/skipped/some-skipped.ts > cannot make its check');
    expect(printed).toContain('× test/support/skipped/some-skipped.ts > cannot make its check, and fails');
    expect(printed).toContain('✓ test/support/skipped/some-skipped.ts > has no such check');
    expect(printed).toContain(
      '1 test skipped: validation against the API documents needs /nowhere/api\n1 test skipped: a moon\n',
    );
  });

  it('are counted by their reason', () => {
    expect(skipLines(['root', 'a moon', 'a moon'])).toEqual([
      '2 tests skipped: a moon',
      '1 test skipped: root',
    ]);
  });
});
