import { execFile } from 'node:child_process';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { failuresIn, summaryOf } from '../../scripts/repeat-tests.ts';
import { NO_DOCUMENTS } from './schema.ts';
import { skipLines } from './skip-report.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Runs the tests of `reported` in a clone that has no API documents; resolves to what is printed. */
const runReported = async (): Promise<string> => {
  const words = ['run', '--config', 'test/support/reported/vitest.config.ts', '--reporter=verbose'];
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

const printed = await runReported();

describe('skipped tests', () => {
  it('are reported as skipped, with the reason; a failure stays a failure', () => {
    expect(printed).toContain('↓ test/support/reported/some-tests.ts > cannot make its check');
    expect(printed).toContain('× test/support/reported/some-tests.ts > cannot make its check, and fails');
    expect(printed).toContain('✓ test/support/reported/some-tests.ts > has no such check');
    expect(printed).toContain(`1 test skipped: ${NO_DOCUMENTS}\n1 test skipped: a moon\n`);
  });

  it('are counted by their reason', () => {
    expect(skipLines(['root', 'a moon', 'a moon'])).toEqual([
      '2 tests skipped: a moon',
      '1 test skipped: root',
    ]);
  });
});

describe('repeated runs', () => {
  const test = (fullName: string, error: string | null) => ({
    fullName,
    status: error === null ? 'passed' : 'failed',
    failureMessages: error === null ? [] : [`${error}\n    at line 1`],
  });
  const file = (name: string, ...assertionResults: readonly ReturnType<typeof test>[]) => ({
    name: `/clone/${name}`,
    status: assertionResults.every(({ status }) => status === 'passed') ? 'passed' : 'failed',
    message: '',
    assertionResults,
  });

  it('list the tests that failed, the most frequent first, and count the runs', () => {
    const reports = [
      [file('a.test.ts', test('one', null), test('two', null))],
      [file('a.test.ts', test('one', 'Error: 1'), test('two', 'Error: late'))],
      [
        file('a.test.ts', test('two', 'Error: late')),
        { ...file('b.test.ts'), status: 'failed', message: 'no' },
      ],
      [file('a.test.ts', test('two', 'Error: 2'))],
    ];
    const runs = reports.map((testResults) => {
      const failures = failuresIn({ testResults }, '/clone');
      return { passed: failures.length === 0, failures };
    });
    expect(summaryOf(runs)).toEqual([
      '3 of 4: a.test.ts > two',
      '    Error: late',
      '    Error: 2',
      '1 of 4: a.test.ts > one',
      '    Error: 1',
      '1 of 4: b.test.ts',
      '    no',
      '1 passed, 3 failed',
    ]);
  });
});
