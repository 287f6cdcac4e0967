import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import type { Stage, Step } from './dockerfile.ts';

const run = promisify(execFile);
const RUN_LIMIT_MS = 900_000;

/** Files of the base image, which a replay does not have. */
const OF_BASE_IMAGE = /^\/etc\/ssl\//;

interface Context {
  readonly folder: string;
  /** The files of the build context. */
  readonly files: readonly string[];
  /** Where the file systems of the stages are made. */
  readonly target: string;
  readonly say: (text: string) => void;
}

/** The folder with the file system of the stage. */
export const rootOf = (target: string, stage: Stage): string => path.join(target, stage.name ?? 'image');

/**
 * Runs the steps of a Dockerfile without Docker: each stage has a folder in place of a file system, and paths of the
 * Dockerfile are below it. The programs are those of this machine, and the Node that runs this.
 */
export const replayStages = async (stages: readonly Stage[], context: Context): Promise<void> => {
  for (const stage of stages) {
    const root = rootOf(context.target, stage);
    await mkdir(path.join(root, 'tmp'), { recursive: true });
    await chmod(path.join(root, 'tmp'), 0o1777);
    // Of the base image.
    await mkdir(path.join(root, 'usr/local/bin'), { recursive: true });
    await copyFile(process.execPath, path.join(root, 'usr/local/bin/node'));
    await chmod(path.join(root, 'usr/local/bin/node'), 0o755);
    let directory = '/';
    for (const step of stage.steps) {
      if (step.kind === 'workdir') {
        directory = step.path;
        await mkdir(path.join(root, directory), { recursive: true });
      } else if (step.kind === 'copy') await copy(step, { ...context, root, directory });
      else await command(step.command, { ...context, root, directory });
    }
  }
};

interface Place extends Context {
  readonly root: string;
  /** In the stage. */
  readonly directory: string;
}

const copy = async (
  { from, sources, to }: Extract<Step, { kind: 'copy' }>,
  { folder, files, target, root, directory, say }: Place,
): Promise<void> => {
  const destination = path.join(root, path.posix.resolve(directory, to));
  for (const source of sources) {
    if (from === null) {
      const wanted = files.filter(
        (file) => source === '.' || file === source || file.startsWith(`${source}/`),
      );
      if (wanted.length === 0) throw new Error(`COPY ${source}: not in the build context`);
      for (const file of wanted) await cp(path.join(folder, file), path.join(destination, file));
      continue;
    }
    const found = path.join(target, from, source);
    if (!existsSync(found)) {
      if (!OF_BASE_IMAGE.test(source)) throw new Error(`COPY --from=${from} ${source}: does not exist`);
      say(`not replayed: ${source} of the base image`);
      continue;
    }
    const isFolder = to.endsWith('/');
    await cp(found, isFolder ? path.join(destination, path.basename(source)) : destination, {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
};

const command = async (text: string, { root, directory, target, say }: Place): Promise<void> => {
  // Owners by name are users of the base image.
  const [, folder] = /^install --directory --mode=700 --owner=node --group=node (\S+)$/.exec(text) ?? [];
  if (folder !== undefined) {
    await mkdir(path.join(root, folder), { recursive: true });
    await chmod(path.join(root, folder), 0o700);
    if (process.getuid?.() === 0) await chown(path.join(root, folder), 1000, 1000);
    return;
  }
  const startedAt = performance.now();
  await run('sh', ['-c', text], {
    cwd: path.join(root, directory),
    env: {
      PATH: `${path.join(root, 'usr/local/bin')}:${process.env['PATH']}`,
      HOME: path.join(target, 'home'),
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) => /^(?:npm_config_|.*_proxy$|.*_CERT)/i.test(name)),
      ),
    },
    timeout: RUN_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  say(`RUN ${text}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
};
