/**
 * Replays deploy/Dockerfile without Docker in a clean folder, starts its command as another user with an application
 * folder that cannot be written, runs its health check, and gets an answer. Needs a network and some minutes, so it is
 * not part of `npm test`; `test/architecture/deploy.test.ts` checks what can be checked by reading.
 *
 *   npm run deploy:check
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { buildContext } from './deploy/build-context.ts';
import { readDockerfile, type Stage } from './deploy/dockerfile.ts';
import { replayStages, rootOf } from './deploy/replay.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..');
const HEALTHY_WITHIN_MS = 60_000;
const LIMIT_MS = 120_000;

const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');
const say = (text: string): void => console.log(text);

const freePort = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? String(address.port) : '0';
};

/** As root: the user of the image, who does not own the application folder. */
const userOf = ({ user }: Stage): { uid?: number; gid?: number } => {
  const [uid = 0, gid = 0] = (user ?? '').split(':').map(Number);
  return process.getuid?.() === 0 ? { uid, gid } : {};
};

/** The problems of the image, whose file system is in this folder. */
const imageProblems = async (image: Stage, root: string): Promise<readonly string[]> => {
  const port = await freePort();
  // A path of the image is one below its folder.
  const env = Object.fromEntries(
    Object.entries(image.env).map(([name, value]) => [
      name,
      value.startsWith('/') ? path.join(root, value) : value,
    ]),
  );
  const options = {
    cwd: path.join(root, 'app'),
    env: { ...env, PORT: port, PATH: path.join(root, 'usr/local/bin'), TMPDIR: path.join(root, 'tmp') },
    ...userOf(image),
  };
  const [program = '', ...words] = [...image.entrypoint, ...image.cmd];
  const child = spawn(path.join(root, 'usr/local/bin', program), words, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  let shown = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  }
  try {
    const [checker = '', ...check] = image.health ?? [];
    const startedAt = performance.now();
    const isHealthy = async (): Promise<boolean> =>
      run(path.join(root, 'usr/local/bin', checker), check, { ...options, timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    while (!(await isHealthy())) {
      if (child.exitCode !== null || performance.now() - startedAt > HEALTHY_WITHIN_MS)
        return [`The server did not become healthy:\n${shown}`];
    }
    say(`healthy after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    return [...(await answerProblems(root, port)), ...(await endProblems(child, exited))];
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
};

const answerProblems = async (root: string, port: string): Promise<readonly string[]> => {
  const base = `http://127.0.0.1:${port}`;
  const key = await readFile(path.join(root, 'var/lib/codex-app-server-proxy/api-key'), 'utf8');
  const signal = AbortSignal.timeout(LIMIT_MS);
  const answer = await fetch(`${base}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'codex-5', input: 'Say hello.' }),
    signal,
  });
  const text = await answer.text();
  const pages = await Promise.all(
    ['/console/', '/docs/operating.md'].map(async (page) => {
      const { status } = await fetch(`${base}${page}`, { signal });
      say(`${page}: ${status}`);
      return status === 200 ? [] : [`${page} was answered with ${status}.`];
    }),
  );
  say(`answer: ${answer.status}`);
  return [
    ...(answer.status === 200 && text.includes('"output_text"') ? [] : [`The answer was: ${text}`]),
    ...pages.flat(),
  ];
};

const endProblems = async (
  child: ReturnType<typeof spawn>,
  exited: Promise<[number | null]>,
): Promise<readonly string[]> => {
  child.kill('SIGTERM');
  const [code] = await exited;
  say(`exit code after SIGTERM: ${code}`);
  return code === 0 ? [] : [`After SIGTERM the exit code was ${code}.`];
};

const target = await mkdtemp(path.join(tmpdir(), 'deploy-check-'));
try {
  // Another user has to get there.
  await chmod(target, 0o755);
  const stages = readDockerfile(await read('deploy/Dockerfile'));
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = buildContext(stdout.trim().split('\n'), await read('.dockerignore'));
  say(`build context: ${files.length} files`);
  await replayStages(stages, { folder: ROOT, files, target, say });
  const image = stages.at(-1);
  if (image === undefined) throw new Error('deploy/Dockerfile has no stage');
  const size = await run('du', ['--summarize', '--human-readable', path.join(rootOf(target, image), 'app')]);
  say(`application folder: ${size.stdout.split('\t')[0]}`);
  const problems = await imageProblems(image, rootOf(target, image));
  for (const problem of problems) console.error(`problem: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  else say('deploy/Dockerfile: no problems');
} finally {
  await rm(target, { recursive: true, force: true });
}
