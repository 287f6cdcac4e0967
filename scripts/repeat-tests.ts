/**
 * Runs every test again and again on a clean clone of the last commit, and lists what failed. A test that fails once in
 * ten runs fails for a newcomer. Needs a network for `npm ci`.
 *
 *   npm run test:repeat 10              ten runs
 *   npm run test:repeat -- 10 --busy    another process keeps every core busy meanwhile
 *   npm run test:repeat -- 50 src/store  only these files
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..');
/** Of one run. A quiet machine with two cores needs less than ten. */
const LIMIT_MS = 60 * 60_000;

interface FailedTest {
  /** Its file and its full name. */
  readonly name: string;
  /** The first line of its error. */
  readonly error: string;
}

interface TestRun {
  readonly passed: boolean;
  readonly failures: readonly FailedTest[];
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The failed tests of a report. A file that could not be loaded has no tests. */
export const failuresIn = (report: Report, root: string): readonly FailedTest[] =>
  report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = path.relative(root, name);
    const failed = assertionResults
      .filter((test) => test.status === 'failed')
      .map(({ fullName, failureMessages: [error = ''] }) => ({
        name: `${file} > ${fullName}`,
        error: firstLine(error),
      }));
    return failed.length === 0 && status === 'failed' ? [{ name: file, error: firstLine(message) }] : failed;
  });

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** What failed, the most frequent first, and how many runs passed. */
export const summaryOf = (runs: readonly TestRun[]): readonly string[] => {
  const byName = Map.groupBy(
    runs.flatMap(({ failures }) => failures),
    ({ name }) => name,
  );
  const failed = [...byName]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .flatMap(([name, failures]) => [
      `${failures.length} of ${runs.length}: ${name}`,
      ...[...new Set(failures.map(({ error }) => error))].map((error) => `    ${error}`),
    ]);
  const passed = runs.filter((run) => run.passed).length;
  return [...failed, `${passed} passed, ${runs.length - passed} failed`];
};

const children = new Set<ChildProcess>();
const end = (child: ChildProcess): void => {
  try {
    // With its children: it leads a group of its own.
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  } catch {
    // It has ended.
  }
};

/** Starts a program in the clone, in a group of its own. */
const start = (folder: string, words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess => {
  const [program = '', ...rest] = words;
  const child = spawn(program, rest, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
};

const runTests = async (folder: string, words: readonly string[], log: string): Promise<TestRun> => {
  const report = `${log}.json`;
  const shared = path.join(ROOT, '../shared');
  const env = {
    ...process.env,
    ...(existsSync(shared) ? { SHARED_DIR: process.env['SHARED_DIR'] ?? shared } : {}),
    PATH: `${path.join(folder, 'node_modules/.bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    NO_COLOR: '1',
  };
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = start(folder, ['vitest', 'run', ...reporters, ...words], env);
  const output = createWriteStream(log);
  child.stdout?.pipe(output, { end: false });
  child.stderr?.pipe(output, { end: false });
  const timer = setTimeout(() => end(child), LIMIT_MS);
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  clearTimeout(timer);
  output.end();
  const failures = existsSync(report)
    ? failuresIn(JSON.parse(await readFile(report, 'utf8')) as Report, folder)
    : [];
  const passed = code === 0;
  // An error outside of a test fails a run, too.
  return {
    passed,
    failures: passed || failures.length > 0 ? failures : [{ name: 'no test', error: `see ${log}` }],
  };
};

const repeat = async (count: number, words: readonly string[], isBusy: boolean): Promise<void> => {
  const run = promisify(execFile);
  const room = await mkdtemp(path.join(tmpdir(), 'test-repeat-'));
  // Tests that run as root start PostgreSQL as another user, who has to reach its binaries in the clone.
  await chmod(room, 0o755);
  const folder = path.join(room, 'clone');
  const { stdout: changes } = await run('git', ['status', '--porcelain'], { cwd: ROOT });
  if (changes !== '') console.log('Changes that are not committed are not tested.');
  await run('git', ['clone', '--quiet', ROOT, folder]);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  const busyCores = isBusy ? availableParallelism() : 0;
  for (let core = 0; core < busyCores; core += 1)
    start(folder, [process.execPath, '-e', 'for (;;);'], process.env);
  const runs: TestRun[] = [];
  for (let nth = 1; nth <= count; nth += 1) {
    const startedAt = performance.now();
    const done = await runTests(folder, words, path.join(room, `run-${nth}.log`));
    runs.push(done);
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
    console.log(`run ${nth} of ${count}: ${done.passed ? 'passed' : 'FAILED'} after ${minutes} minutes`);
    for (const { name, error } of done.failures) console.log(`  ${name}\n    ${error}`);
  }
  console.log(`\n${summaryOf(runs).join('\n')}`);
  const hasPassed = runs.every(({ passed }) => passed);
  if (hasPassed) await rm(room, { recursive: true, force: true });
  else console.log(`The logs are in ${room}.`);
  process.exitCode = hasPassed ? 0 : 1;
};

// A test imports this file for its summary.
if (import.meta.main) {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      for (const child of children) end(child);
      process.exit(1);
    });
  const [count = '', ...rest] = process.argv.slice(2);
  if (/^[1-9]\d*$/.test(count)) {
    const words = rest.filter((word) => word !== '--busy');
    try {
      await repeat(Number(count), words, words.length < rest.length);
    } finally {
      for (const child of children) end(child);
    }
  } else {
    console.error('How many runs? For example: npm run test:repeat 10, or npm run test:repeat -- 10 --busy');
    process.exitCode = 2;
  }
}
