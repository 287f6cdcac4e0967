import path from 'node:path';

import type { CommandContext, Flags } from '../read-command-line.ts';
import { commandLine, thisInvocation } from '../invocation.ts';
import type { ManagerStep, ServiceManager, RunTool, SystemUser } from './manager.ts';
import { addressOf, type ListenAddress } from '../explain.ts';

/** The Node and the script that a service runs. */
interface Program {
  readonly node: string;
  readonly script: string;
}

interface Machine {
  /** The folder of this package or clone. */
  readonly root: string;
  /** The running Node. */
  readonly node: string;
  /** The versions of Node and of this package. */
  readonly versions: readonly string[];
  /** Folders for temporary files. */
  readonly temporary: readonly string[];
  exists(file: string): boolean;
}

export interface FoundProgram extends Program {
  /** Why a service cannot use it, and what to do instead; null: it can. */
  readonly refusal: string | null;
  readonly warnings: readonly string[];
}

/** Finds what a service can still run tomorrow. */
export const findProgram = (machine: Machine): FoundProgram => {
  const program = {
    node: lastingNode(machine),
    script: path.join(machine.root, 'bin', 'codex-app-server-proxy.js'),
  };
  const cache = CACHES.find(([pattern]) => pattern.test(machine.root))?.[1];
  const isTemporary = machine.temporary.some((folder) => isBelow(machine.root, folder));
  const place = cache ?? (isTemporary ? 'a folder for temporary files' : null);
  return {
    ...program,
    refusal:
      place === null
        ? null
        : `This copy of the program is in ${place} (${machine.root}) and will not stay there. ` +
          'Install the package with npm install --global, then run codex-app-server-proxy service install.',
    warnings: [program.node, program.script]
      .filter((file) => machine.versions.some((version) => namesVersion(file, version)))
      .map(
        (file) =>
          `${file} contains a version in its path: after an update that moves it, run service install again.`,
      ),
  };
};

/** Folders from which npm and others run a package once. */
const CACHES: readonly (readonly [RegExp, string])[] = [
  [/[\\/]_npx[\\/]/, "npx's cache"],
  [/[\\/]dlx(?:-[^\\/]+)?[\\/]/, "pnpm's cache of dlx"],
  [/[\\/]bunx-[^\\/]+[\\/]/, "bunx's cache"],
  [/[\\/]xfs-[^\\/]+[\\/]/, "Yarn's cache of dlx"],
];

/** Homebrew removes the folder of a version at an update; the link below `opt` stays. */
const lastingNode = (machine: Machine): string => {
  const { node } = machine;
  const [, prefix, formula] = /^(.+)\/Cellar\/([^/]+)\/[^/]+\/bin\/node$/.exec(node) ?? [];
  const link = `${prefix}/opt/${formula}/bin/node`;
  return prefix !== undefined && machine.exists(link) ? link : node;
};

const namesVersion = (file: string, version: string): boolean =>
  path
    .dirname(file)
    .split(/[\\/@_]/)
    .some((part) => part.replace(/^(?:v|node-v?)/, '').startsWith(version));

const isBelow = (file: string, folder: string): boolean => {
  const way = path.relative(folder, file);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
};

/** What a service manager has to know. */
export interface ServiceDefinition extends Program {
  readonly variables: Readonly<Record<string, string>>;
  /** How long the server may take to finish its answers when it is stopped. */
  readonly stopSeconds: number;
}

/** The name of the service for its manager. */
export const SERVICE_NAME = 'codex-app-server-proxy';

/** In the first lines of every file that this command writes. Other files are never changed or removed. */
export const MARKER = 'Written by codex-app-server-proxy service install';

/** A file of a service, read back. */
export interface ReadDefinition {
  /** The program and its arguments; empty if it cannot be read. */
  readonly command: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** One use of the command. */
export interface ServiceTask {
  readonly flags: Flags;
  readonly world: CommandContext;
  readonly manager: ServiceManager;
  readonly user: SystemUser;
  readonly program: FoundProgram;
  readonly run: RunTool;
}

/** The command line of another action. */
export const serviceCommand = ({ world }: ServiceTask, action: string): string =>
  commandLine(thisInvocation(world.environment), 'service', action);

/** Asks before something changes. */
export const isAgreed = async ({ flags, world }: ServiceTask, question: string): Promise<boolean> => {
  if (flags.has('yes')) return true;
  const answer = await world.confirm(question);
  if (answer === true) return true;
  world.say(
    answer === null ? 'Nothing was changed: without a terminal, add --yes.\n' : 'Nothing was changed.\n',
  );
  return false;
};

const PAUSE_MS = 1_000;

/** Runs commands of the manager one after the other. Resolves to what the first failure says; null: there is none. */
export const runSteps = async (
  { run }: ServiceTask,
  steps: readonly ManagerStep[],
  limitMs: number,
): Promise<string | null> => {
  for (const { words, mayFail, attempts = 1 } of steps) {
    for (let attempt = 1; ; attempt += 1) {
      const { code, problem } = await run(words, limitMs);
      if (code === 0 || mayFail === true) break;
      if (attempt >= attempts || code === null) return `${words.join(' ')}: ${problem}`;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  return null;
};

const LIMIT_MS = 3_000;

/** Whether this server answers at its address. */
export const isServing = async (http: ListenAddress): Promise<'ready' | 'not ready' | 'no answer'> => {
  const answer = await fetch(`${addressOf(http)}/readyz`, { signal: AbortSignal.timeout(LIMIT_MS) })
    .then((response) => response.text())
    .catch(() => '');
  const said = /"status":"(ready|not ready)"/.exec(answer)?.[1];
  return said === 'ready' || said === 'not ready' ? said : 'no answer';
};
