import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * `npm run deps`: which dependencies are behind their newest release. Reports only: a new version is taken by hand,
 * codex by `npm run codex:upgrade`. The tag `latest` is not used, because some packages leave it at an older line.
 */

/** Held on purpose. */
const HELD: Readonly<Record<string, string>> = {
  node: 'the version that development uses (decision 0005)',
  '@types/node': 'follows node',
};

const run = promisify(execFile);

/** What the registry says about a package; undefined if it does not have it. */
const view = async (spec: string, field: string): Promise<unknown> => {
  try {
    const { stdout } = await run('npm', ['view', spec, field, '--json'], { timeout: 60_000 });
    return stdout.trim() === '' ? undefined : JSON.parse(stdout);
  } catch (error) {
    if (String((error as { stdout?: unknown }).stdout).includes('E404')) return undefined;
    throw new Error(`npm view ${spec} failed`, { cause: error });
  }
};

const numbers = (version: string): number[] => version.split('.').map(Number);
const compare = (a: string, b: string): number => {
  const [left, right] = [numbers(a), numbers(b)];
  return left.map((part, at) => part - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
};

/** The platforms whose binary package is not there: such a version would break `npm ci` elsewhere. */
const missingBinaries = async (name: string, version: string): Promise<readonly string[]> => {
  const optional = Object.entries((await view(`${name}@${version}`, 'optionalDependencies')) ?? {});
  const found = await Promise.all(
    // An alias, as codex has, names its package itself.
    optional.map(([other, wanted]) =>
      view(String(wanted).startsWith('npm:') ? String(wanted).slice(4) : `${other}@${wanted}`, 'version'),
    ),
  );
  return optional.filter((_, at) => found[at] === undefined).map(([other]) => other);
};

const report = async (name: string, current: string): Promise<string | null> => {
  const published = [(await view(name, 'versions')) ?? []]
    .flat()
    .filter((version) => typeof version === 'string');
  const newer = published
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version) && compare(version, current.replace(/-.*/, '')) > 0)
    .toSorted(compare);
  const newest = newer.at(-1);
  if (newest === undefined) return null;
  const held = HELD[name];
  if (held !== undefined) return `  ${name} ${current} → ${newest}, held: ${held}`;
  const missing = await missingBinaries(name, newest);
  return missing.length === 0
    ? `  ${name} ${current} → ${newest}`
    : `  ${name} ${current} → ${newest}, not yet: ${missing.length} of its binaries are not published`;
};

const { dependencies, devDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;
const lines: string[] = [];
for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
  const line = await report(name, version);
  if (line !== null) lines.push(line);
}
process.stdout.write(
  lines.length === 0 ? 'Every dependency is at its newest release.\n' : `Behind:\n${lines.join('\n')}\n`,
);
