/**
 * Packs this project, checks the package's contents, installs it into an empty folder and for all users, runs it by
 * npx, and gets a first answer from the demo model each time. Needs a network and some minutes, so it is not part of
 * `npm test`.
 *
 *   node scripts/try-package.ts             the package
 *   node scripts/try-package.ts --release   also the version and the changelog; needs no git tag
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { installationProblems } from './release/installation-problems.ts';
import type { Installation } from './release/installed.ts';
import { contentProblems, sbomProblems, versionProblems } from './release/problems.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..');
const NAME = 'codex-app-server-proxy';
const LIMIT_MS = 300_000;

const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');
const versionIn = async (file: string): Promise<string> =>
  (JSON.parse(await read(file)) as { version: string }).version;

/** The output, or null if the command fails. */
const git = async (...words: readonly string[]): Promise<string | null> => {
  try {
    return (await run('git', words, { cwd: ROOT })).stdout.trim();
  } catch {
    return null;
  }
};

const releaseProblems = async (version: string): Promise<readonly string[]> => {
  const versions = { inPackage: version, inLock: await versionIn('package-lock.json') };
  const changes = await git('status', '--porcelain');
  return [
    ...versionProblems(versions, await read('CHANGELOG.md')),
    // Without a repository there is nothing to compare with.
    ...(changes === null || changes === '' ? [] : ['There are changes that are not committed.']),
  ];
};

/** npm settings: a new machine has an empty cache. */
const npmIn = (folder: string) => ({
  npm_config_cache: path.join(folder, 'cache'),
  npm_config_update_notifier: 'false',
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /^(?:npm_config_registry|https?_proxy|no_proxy|.*_CERTS?(?:_\w+)?)$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  ),
});

/** Packs this project into the folder. */
const pack = async (folder: string) => {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: ROOT,
    timeout: LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  const [packed] = JSON.parse(stdout) as readonly {
    readonly filename: string;
    readonly size: number;
    readonly files: readonly { readonly path: string }[];
  }[];
  if (packed === undefined) throw new Error('npm pack made no package.');
  const files = packed.files.map((file) => file.path);
  console.log(`${packed.filename}: ${files.length} files, ${Math.round(packed.size / 1000)} kB`);
  return { file: path.join(folder, packed.filename), problems: contentProblems(files) };
};

/** The problems of the package: installed in a folder, installed for all users, and run by npx. */
const packageProblems = async (folder: string, version: string): Promise<readonly string[]> => {
  const { file, problems } = await pack(folder);
  if (problems.length > 0) return problems;
  const environment = npmIn(folder);
  const at = async (name: string): Promise<string> => {
    await mkdir(path.join(folder, name));
    return path.join(folder, name);
  };
  const npm = { env: { ...process.env, ...environment }, timeout: LIMIT_MS };

  const local = await at('local');
  await writeFile(path.join(local, 'package.json'), '{}');
  await run('npm', ['install', file], { ...npm, cwd: local });
  const sbom = await readFile(path.join(local, 'node_modules', NAME, 'dist/sbom.json'), 'utf8');

  const prefix = await at('prefix');
  await run('npm', ['install', '--global', '--prefix', prefix, file], { ...npm, cwd: folder });

  const ways: readonly Omit<Installation, 'home' | 'environment'>[] = [
    {
      title: 'in a folder',
      command: [process.execPath, path.join(local, 'node_modules/.bin', NAME)],
      cwd: local,
    },
    { title: 'for all users', command: [path.join(prefix, 'bin', NAME)], cwd: folder },
    { title: 'npx', command: ['npx', '--yes', '--package', file, NAME], cwd: await at('empty') },
  ];
  const found: string[] = [...sbomProblems(sbom, version)];
  for (const way of ways) {
    const home = await at(`home ${way.title}`);
    found.push(...(await installationProblems({ ...way, home, environment }, version)));
  }
  return found;
};

const folder = await mkdtemp(path.join(tmpdir(), 'try-package-'));
try {
  const version = await versionIn('package.json');
  const problems = [
    ...(process.argv.includes('--release') ? await releaseProblems(version) : []),
    ...(await packageProblems(folder, version)),
  ];
  for (const problem of problems) console.error(`problem: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${NAME} ${version}: no problems`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
