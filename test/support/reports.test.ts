import { execFile } from 'node:child_process';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { skipLines } from './skip-report.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Runs the tests of `reported` in a clone that has no API documents; resolves to what is printed. */
const runReported = async (): Promise<string> => {
  const words = ['run', '--config', 'test/support/reported/vitest.config.ts', '--reporter=verbose'];
  const env = { ...process.env, SHARED_DIR: '/nowhere', CI: '', NO_COLOR: '1' };
  return await new Promise((resolve) => {
    execFile(
      path.join(ROOT, 'node_modules/.bin/vitest'),
      [...words, '--reporter=./test/support/skip-report.ts', '--reporter=./test/support/retry-report.ts'],
      { cwd: ROOT, env },
      (_, stdout) => resolve(stdout),
    );
  });
};

const printed = await runReported();

describe('skipped tests', () => {
  it('are reported as skipped, with the reason; a failure stays a failure', () => {
    expect(printed).toContain('↓ test/support/reported/some-tests.ts > cannot make its check');
    expect(printed).toContain('× test/support/reported/some-tests.ts > cannot make its check, and fails');
    expect(printed).toContain('✓ test/support/reported/some-tests.ts > has no such check');
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

describe('tests that were run again', () => {
  it('are named if they passed then, with the first error; the others fail', () => {
    expect(printed.split('\n').filter((line) => line.startsWith('passed only'))).toEqual([
      'passed only on its second run: test/support/reported/some-tests.ts > a test that is run again > ' +
        "may pass then, with its hooks: expected [ 'before' ] to deeply equal [ 'before', 'after', 'before' ]",
    ]);
    expect(printed).toContain(
      '× test/support/reported/some-tests.ts > a test that is run again > may fail again',
    );
  });
});
