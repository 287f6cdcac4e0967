/**
 * Packs this project, checks the package's contents, installs it into an empty folder, and gets a first answer from the
 * demo model through the installed command. Needs a network and about a minute, so it is not part of `npm test`.
 *
 *   node scripts/try-package.ts             the package
 *   node scripts/try-package.ts --release   also the version, the changelog and the tag
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { contentProblems, sbomProblems, tagProblems, versionProblems } from './release/problems.ts';

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
  const tag = `v${version}`;
  const tagged = await git('rev-parse', '--quiet', '--verify', `refs/tags/${tag}^{commit}`);
  const versions = { inPackage: version, inLock: await versionIn('package-lock.json') };
  const changes = await git('status', '--porcelain');
  return [
    ...versionProblems(versions, await read('CHANGELOG.md')),
    ...tagProblems(tag, tagged, (await git('rev-parse', 'HEAD')) ?? ''),
    ...(changes === '' ? [] : ['There are changes that are not committed.']),
  ];
};

/** Uses its own home, without the user's settings. */
const start = (folder: string, words: readonly string[]) =>
  spawn(process.execPath, [path.join(folder, 'node_modules', '.bin', NAME), ...words], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PORT: '0',
      PROXY_CODEX_WORKDIR: path.join(folder, 'work'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
  });

const outputOf = async (folder: string, words: readonly string[]): Promise<string> => {
  const child = start(folder, words);
  child.stderr.pipe(process.stderr);
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await once(child, 'close');
  return out;
};

/** Starts the installed server and sends the README's request to the demo model. */
const firstAnswer = async (folder: string): Promise<string> => {
  const child = start(folder, []);
  child.stdout.resume();
  const closed = once(child, 'close') as Promise<[code: number | null]>;
  let shown = '';
  const url = new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [, found] = /URL\s+(http\S+)/.exec(shown) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`The server ended before it was ready:\n${shown}`)));
  });
  try {
    const base = await url;
    const key = await readFile(path.join(folder, '.codex-app-server-proxy/api-key'), 'utf8');
    const response = await fetch(`${base}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'codex-5', input: 'Say hello.' }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return `${response.status} ${await response.text()}`;
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
};

const installedProblems = async (folder: string): Promise<readonly string[]> => {
  const { findings } = JSON.parse(await outputOf(folder, ['doctor', '--json'])) as {
    findings: readonly { check: string; grade: string; says: string }[];
  };
  for (const { check, grade, says } of findings) console.log(`${grade} ${check}: ${says}`);
  const answer = await firstAnswer(folder);
  const isAnswer = answer.startsWith('200 ') && answer.includes('"output_text"');
  console.log(`first answer: ${answer.slice(0, 3)}`);
  return [
    ...(findings.some(({ check, grade }) => check === 'turn' && grade === 'ok')
      ? []
      : ['The doctor of the installed package got no answer.']),
    ...(isAnswer ? [] : [`The installed server answered: ${answer.slice(0, 500)}`]),
  ];
};

/** The problems of the package, tested in this folder. */
const packageProblems = async (folder: string, version: string): Promise<readonly string[]> => {
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
  if (packed === undefined) return ['npm pack made no package.'];
  const files = packed.files.map((file) => file.path);
  console.log(`${packed.filename}: ${files.length} files, ${Math.round(packed.size / 1000)} kB`);
  const problems = contentProblems(files);
  if (problems.length > 0) return problems;
  await writeFile(path.join(folder, 'package.json'), '{}');
  await run('npm', ['install', `./${packed.filename}`], { cwd: folder, timeout: LIMIT_MS });
  console.log((await outputOf(folder, ['--version'])).trim());
  const sbom = await readFile(path.join(folder, 'node_modules', NAME, 'dist/sbom.json'), 'utf8');
  return [...sbomProblems(sbom, version), ...(await installedProblems(folder))];
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
