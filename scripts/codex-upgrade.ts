/**
 * Takes another version of codex: `npm run codex:upgrade [VERSION]`, the newest one by default.
 *
 * Installs it exactly, prints what the change means, vendors its protocol types and features, writes the line of the
 * changelog, and runs the checks and suites that depend on codex. `-- --no-tests` leaves those out.
 */
import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { findCodexBinary } from '../src/codex/binary.ts';
import { changedFacts, readBinaryFacts } from './protocol/binary-facts.ts';
import { PACKAGE, reportOf, withChangelogLine } from './protocol/upgrade-report.ts';

const ROOT = path.join(import.meta.dirname, '..');
const CHANGELOG = path.join(ROOT, 'CHANGELOG.md');
const NPM_MS = 10 * 60_000;

/** What uses the real binary, or is made from it. */
const SUITES = [
  'src/codex/',
  'src/engine/drivers/',
  'test/pins/',
  'test/golden/',
  'test/scenarios/',
  'test/relay/',
  'test/chatgpt/',
  'test/clients/codex',
  'test/laws/exactness',
  'test/conformance/clean-prompt',
  'test/conformance/compaction',
  'test/conformance/images',
  'test/conformance/mcp-',
  'test/conformance/models',
  'test/conformance/responses-',
  'test/conformance/reviews',
  'test/conformance/steer',
] as const;

const npm = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, timeout: NPM_MS });
  return stdout.trim();
};

/** Runs a command with its output on the terminal. */
const passes = (command: string, args: readonly string[]): Promise<boolean> => {
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit' });
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(String(error));
      resolve(false);
    });
    child.once('close', (code) => resolve(code === 0));
  });
};

const NO_TESTS = '--no-tests';
const args = process.argv.slice(2);
const words = args.filter((arg) => arg !== NO_TESTS);
if (words.length > 1 || words.some((word) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(word))) {
  console.error(
    'Which version? For example: npm run codex:upgrade 0.169.0 (without one: the newest), or npm run codex:upgrade -- --no-tests',
  );
  process.exit(2);
}
const asked = words[0] ?? (await npm('view', PACKAGE, 'version'));

const before = findCodexBinary();
if (before.version === asked) console.log(`codex ${asked} is installed already.`);
else {
  const facts = await readBinaryFacts(before.path);
  console.log(`Installing codex ${asked} in the place of ${before.version}.`);
  await npm('install', '--save-exact', '--ignore-scripts', `${PACKAGE}@${asked}`).catch((error: unknown) => {
    console.error(`npm could not install it. ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
  const after = findCodexBinary();
  if (after.version !== asked) throw new Error(`npm installed ${after.version}, not ${asked}.`);
  const changes = changedFacts(facts, await readBinaryFacts(after.path));
  console.log(await reportOf(changes, { from: before.version, to: asked, root: ROOT }));
  const isVendored = await passes(process.execPath, [path.join('scripts', 'protocol.ts'), '--write']);
  const changelog = await readFile(CHANGELOG, 'utf8');
  await writeFile(CHANGELOG, withChangelogLine(changelog, { from: before.version, to: asked }));
  const results: (readonly [name: string, isGreen: boolean])[] = [['types and features', isVendored]];
  if (!args.includes(NO_TESTS)) {
    results.push(['npm run check', await passes('npm', ['run', '--silent', 'check'])]);
    results.push(['suites', await passes('npx', ['vitest', 'run', ...SUITES])]);
  }
  for (const [name, isGreen] of results) console.log(`${isGreen ? '✓' : '✗'} ${name}`);
  const failed = results.some(([, isGreen]) => !isGreen);
  console.log(
    failed
      ? 'Read the report above, then make the failing tests pass, or go back: git checkout . && npm ci'
      : 'Read the diff, run npm test, and commit.',
  );
  if (failed) process.exitCode = 1;
}
