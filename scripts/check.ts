/**
 * Runs every read-only check at once. Prints a line for each, and the output of those that failed.
 *
 *   node scripts/check.ts                   everything
 *   node scripts/check.ts --changed         only what concerns the files that differ from the main branch
 *   node scripts/check.ts --without rules   leaves one out: `npm test` runs the tests of the rules anyway
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

const ALL = {
  format: 'oxfmt --check',
  lint: 'oxlint --deny-warnings',
  // Each checker repeats work of the others, and the linter needs a core, too.
  types: 'tsc --checkers 2',
  'types of the console': 'tsc -p console',
  'dead code': 'knip',
  protocol: 'node scripts/protocol.ts',
  docs: 'node scripts/docs.ts',
  words: 'node scripts/words.ts',
  // Imports, the tree, links, the limits of the structure, and visible names.
  rules: 'vitest run --project unit test/architecture test/pins',
};

const git = (...words: readonly string[]): readonly string[] | null => {
  try {
    const said = execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return said.split('\n').filter((line) => line !== '');
  } catch {
    return null;
  }
};

/** The files that differ from the main branch, committed or not. */
const changedFiles = (): readonly string[] => {
  const [base = 'HEAD'] = git('merge-base', 'HEAD', 'origin/main') ?? git('merge-base', 'HEAD', 'main') ?? [];
  const changed = git('diff', '--name-only', '--diff-filter=d', base) ?? [];
  return [...changed, ...(git('ls-files', '--others', '--exclude-standard') ?? [])];
};

const quoted = (files: readonly string[]): string => files.map((file) => `'${file}'`).join(' ');

/** The tests of the rules that most changes concern, and the unit tests next to the changed files. */
const quickTests = (files: readonly string[]): readonly string[] => [
  ...['docs', 'imports', 'structure'].map((name) => `test/architecture/${name}.test.ts`),
  ...new Set(
    files
      .map((file) => (file.endsWith('.test.ts') ? file : file.replace(/\.ts$/, '.test.ts')))
      .filter((file) => file.endsWith('.test.ts') && existsSync(file)),
  ),
];

const checksOfChanged = (): Readonly<Record<string, string>> => {
  const files = changedFiles();
  const code = files.filter((file) => /\.(?:ts|tsx|mjs|js)$/.test(file));
  return {
    ...(files.length === 0
      ? {}
      : { format: `oxfmt --check --no-error-on-unmatched-pattern ${quoted(files)}` }),
    ...(code.length === 0 ? {} : { lint: `oxlint --deny-warnings ${quoted(code)}` }),
    types: 'tsc --checkers 2',
    docs: ALL.docs,
    words: ALL.words,
    tests: `vitest run --project unit ${quoted(quickTests(code))}`,
  };
};

const check = async (name: string, command: string): Promise<boolean> => {
  // npm puts `node_modules/.bin` into the path.
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
  const said = await text(child.stdout);
  const passes = await ended;
  process.stdout.write(passes ? `✓ ${name}\n` : `✗ ${name} (${command})\n${said}\n`);
  return passes;
};

const { values: flags } = parseArgs({
  options: { changed: { type: 'boolean', default: false }, without: { type: 'string' } },
});
const checks = Object.entries(flags.changed ? checksOfChanged() : ALL);
const chosen = checks.filter(([name]) => name !== flags.without);
const passed = await Promise.all(chosen.map(([name, command]) => check(name, command)));
process.exitCode = passed.every(Boolean) ? 0 : 1;
