import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

import { PlainError } from '../explain.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PASSED_ON = ['SIGTERM', 'SIGHUP'] as const;

interface ClientCommand {
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly directory: string;
}

/** Runs a program in the place of this one. Resolves to its exit code: 128 plus the number if a signal ended it. */
export const runClient = async ({
  program,
  words,
  environment,
  directory,
}: ClientCommand): Promise<number> => {
  const child = spawn(program, words, { stdio: 'inherit', env: environment, cwd: directory });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  // The terminal sends Ctrl-C to both processes; the client decides what it means.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  for (const signal of PASSED_ON) process.on(signal, pass);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => reject(cannotStart(program, error)));
      child.once('close', (code, signal) =>
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
      );
    });
  } finally {
    process.off('SIGINT', ignore);
    for (const signal of PASSED_ON) process.off(signal, pass);
  }
};

const cannotStart = (program: string, { code }: NodeJS.ErrnoException): PlainError =>
  new PlainError(
    code === 'ENOENT'
      ? `There is no program ${program} on the PATH: install it first.`
      : `${program} cannot be started (${code ?? 'unknown error'}).`,
  );

/** Variables that npm adds for its scripts. Other settings of npm may be the user's. */
const OF_NPM =
  /^(?:npm_(?:lifecycle|package)_.*|npm_(?:command|execpath|node_execpath|config_local_prefix)|INIT_CWD)$/;

/** The environment as it was before npm started this command, which puts the project's own programs first on the PATH. */
export const withoutNpm = (environment: Environment, root: string): Environment => {
  if (environment['npm_lifecycle_event'] === undefined) return environment;
  const isNpms = (folder: string): boolean =>
    /[\\/]node-gyp-bin$/.test(folder) ||
    (/[\\/]node_modules[\\/]\.bin$/.test(folder) && isAbove(path.dirname(path.dirname(folder)), root));
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => !OF_NPM.test(name))
      .map(([name, value]) => [
        name,
        /^path$/i.test(name)
          ? value
              ?.split(path.delimiter)
              .filter((folder) => !isNpms(folder))
              .join(path.delimiter)
          : value,
      ]),
  );
};

const isAbove = (folder: string, root: string): boolean => {
  const way = path.relative(folder, root);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
};
