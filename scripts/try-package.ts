/**
 * Does the package run? Packs this project, installs it into an empty folder as a user would, and asks
 * the demo model through the installed command. It takes a network and half a minute, so it is not a
 * part of `npm test`.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..');
const NAME = 'codex-app-server-proxy';
const LIMIT_MS = 300_000;

const folder = await mkdtemp(path.join(tmpdir(), 'try-package-'));
try {
  await run('npm', ['pack', '--pack-destination', folder], { cwd: ROOT, timeout: LIMIT_MS });
  const packed = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (packed === undefined) throw new Error('npm pack made no package');
  await writeFile(path.join(folder, 'package.json'), '{}');
  await run('npm', ['install', `./${packed}`], { cwd: folder, timeout: LIMIT_MS });
  console.log((await ask(['--version'])).trim());
  const { findings } = JSON.parse(await ask(['doctor', '--json'])) as {
    findings: readonly { check: string; grade: string; says: string }[];
  };
  for (const { check, grade, says } of findings) console.log(`${grade} ${check}: ${says}`);
  if (!findings.some(({ check, grade }) => check === 'turn' && grade === 'ok')) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** The output of the installed command, in its own home and without the settings of the current user. */
async function ask(words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [path.join(folder, 'node_modules', '.bin', NAME), ...words], {
    env: { PATH: process.env['PATH'], HOME: folder, PROXY_CODEX_WORKDIR: path.join(folder, 'work') },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LIMIT_MS,
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await once(child, 'close');
  return out;
}
