import { homedir, constants } from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';

import { untrustedState } from '../codex/home/private-folders.ts';
import { UntrustedPath } from '../codex/home/trusted-path.ts';
import type { Config } from '../config/schema.ts';
import { secretHider } from '../kit/text/hide-secrets.ts';
import type { CommandContext, Flags, RunCommand } from './read-command-line.ts';
import {
  type ConnectClient,
  type ServerFacts,
  isShell,
  shellLines,
  SHELLS,
  usualShell,
  type Variables,
} from '../connect/client.ts';
import { CLIENTS, type ConnectClientName } from '../connect/clients.ts';
import { snippetOf, FORMATS } from '../connect/formats.ts';
import { applyEdits, NotMerged, planEdit, type Edit, applyUndo, planUndo } from './connect/edit.ts';
import { Records, type KeptKey, digestOf, type FileRecord } from './connect/record.ts';
import { findServer, revokeKey } from './connect/server.ts';
import { showDiff, placeOnDisk, readTarget } from './connect/target.ts';
import { PlainError, loadSettings, addressOf } from './explain.ts';
import { commandLine, thisInvocation } from './invocation.ts';
import { unmerge } from './connect/merge.ts';

/** The usual exit code for wrong usage. */
const USAGE = 2;

/** Sets up a client for this server, starts it, or takes the settings back. */
export const connect: RunCommand = async (flags, world, [name, ...others]) => {
  const problem = usageProblem(flags, name, others);
  if (problem !== null) {
    world.say(`${problem} See codex-app-server-proxy --help.\n`);
    return USAGE;
  }
  const config = await loadSettings(world.environment);
  // The records in it say which files are written.
  const untrusted = await untrustedState(config.state.dir);
  if (untrusted !== null) throw new UntrustedPath(untrusted);
  if (name === undefined) {
    world.out(await listClients(world, config.state.dir, addressOf(config.http)));
    return 0;
  }
  const task = taskOf(name as ConnectClientName, { flags, world, config });
  if (flags.has('undo')) return undo(task);
  const found = await findServer(config, {
    client: task.recordName,
    url: flags.get('url') ?? null,
    model: flags.get('model') ?? null,
    workspaces: flags.has('mcp') ? (flags.get('workspaces')?.split(',') ?? []) : null,
    startCommand: commandLine(thisInvocation(world.environment), 'serve'),
    records: recordsOf(task),
    agrees: (question) => isAgreed(task, question),
  });
  if (found === null) return 1;
  const { facts, notes } = found;
  for (const note of notes) world.say(`${note}\n`);
  if (flags.has('run')) return start(task, facts, others);
  if (flags.has('shell') || task.client.files(facts).length === 0) return printVariables(task, facts);
  return flags.has('print') ? print(task, facts) : write(task, facts);
};

interface TaskContext {
  readonly flags: Flags;
  readonly world: CommandContext;
  readonly config: Config;
}

interface Task extends TaskContext {
  readonly name: ConnectClientName;
  readonly client: ConnectClient;
  /** Of what was written and made for it. */
  readonly recordName: string;
}

/** With `--mcp` a client has other files, and a key and records of its own: both set-ups can be taken back alone. */
const taskOf = (name: ConnectClientName, context: TaskContext): Task => {
  const client: ConnectClient = CLIENTS[name];
  const { mcp } = client;
  if (!context.flags.has('mcp') || mcp === undefined) return { ...context, name, client, recordName: name };
  return {
    ...context,
    name,
    client: { ...client, files: (server) => [mcp.file(server)], run: () => null, tryIt: mcp.tryIt },
    recordName: `${name}-mcp`,
  };
};

const recordsOf = ({ config, recordName }: Task): Records => new Records(config.state.dir, recordName);

/** The command that takes back what this one writes. */
const undoCommand = ({ name, flags, world }: Task): string => {
  const mode = flags.has('mcp') ? ['--mcp', '--undo'] : ['--undo'];
  return commandLine(thisInvocation(world.environment), 'connect', name, ...mode);
};

/** Flags that exclude each other. */
const MODES = ['print', 'undo', 'run'] as const;

const usageProblem = (flags: Flags, name: string | undefined, others: readonly string[]): string | null => {
  const [mode, second] = MODES.filter((flag) => flags.has(flag));
  if (name === undefined && (flags.size > 0 || others.length > 0)) return 'connect: name a client.';
  if (second !== undefined) return `--${mode} and --${second} exclude each other.`;
  if (others.length > 0 && mode !== 'run') return 'Arguments after -- need --run.';
  if (name === 'env' && mode === 'run' && others.length === 0) return 'Name the program after --.';
  if (flags.has('mcp') && CLIENTS_WITH_MCP.every((one) => one !== name))
    return `--mcp is for: ${CLIENTS_WITH_MCP.join(', ')}.`;
  if (flags.has('workspaces') && !flags.has('mcp')) return '--workspaces needs --mcp.';
  if (flags.has('mcp') && mode === 'run') return '--mcp and --run exclude each other.';
  const shell = flags.get('shell');
  if (shell !== undefined && !isShell(shell)) return `--shell needs one of: ${SHELLS.join(', ')}.`;
  const without = [
    ...(mode === 'undo' ? ['url', 'model', 'shell', 'workspaces'] : []),
    ...(mode === 'run' ? ['shell'] : []),
  ];
  const useless = without.find((flag) => flags.has(flag));
  if (useless !== undefined) return `--${useless} has no meaning with --${mode}.`;
  const ofModels = flags.has('mcp') ? ['model', 'shell'].find((flag) => flags.has(flag)) : undefined;
  return ofModels === undefined ? null : `--${ofModels} has no meaning with --mcp.`;
};

const CLIENTS_WITH_MCP = Object.entries<ConnectClient>(CLIENTS).flatMap(([name, { mcp }]) =>
  mcp === undefined ? [] : [name],
);

const start = async (
  { name, client, world }: Task,
  server: ServerFacts,
  others: readonly string[],
): Promise<number> => {
  const run = client.run(server);
  if (run === null)
    throw new PlainError(
      `${client.title} reads its settings from a file only: use connect ${name} without --run.`,
    );
  const [program = '', ...words] = run.program === null ? others : [run.program, ...run.words, ...others];
  const { root, directory } = thisInvocation(world.environment);
  return runClient({
    program,
    words,
    environment: { ...withoutNpm(world.environment, root), ...run.variables },
    directory,
  });
};

const printVariables = ({ name, client, flags, world }: Task, server: ServerFacts): number => {
  const run = client.run(server);
  if (run === null || run.words.length > 0)
    throw new PlainError(
      `${client.title} cannot be set up with variables alone: use connect ${name} without --shell.`,
    );
  const wanted = flags.get('shell') ?? '';
  const shell = isShell(wanted) ? wanted : usualShell(world.environment, process.platform);
  world.out(shellLines(run.variables, shell));
  const chosen = ['url', 'model'].flatMap((flag) => {
    const value = flags.get(flag);
    return value === undefined ? [] : [`--${flag}`, value];
  });
  const command = commandLine(thisInvocation(world.environment), 'connect', name, '--run', ...chosen);
  world.say(`\nRun these lines in your shell for ${client.title}. For a single run: ${command} -- …\n`);
  return 0;
};

/** On Windows, HOME is a path of another shell. */
const placesOf = ({ environment }: CommandContext) => {
  const home = (process.platform === 'win32' ? null : environment['HOME']) ?? homedir();
  // The key would be written into the current folder.
  if (!path.isAbsolute(home))
    throw new PlainError('HOME is not an absolute path: set it to your home folder.');
  return { home, environment };
};

const print = async ({ client, world }: Task, server: ServerFacts): Promise<number> => {
  const { home, environment } = placesOf(world);
  for (const file of client.files(server)) {
    world.say(`${await placeOnDisk(file.place, home, environment)}:\n`);
    world.out(snippetOf(file));
  }
  return 0;
};

const write = async (task: Task, server: ServerFacts): Promise<number> => {
  const { client, world } = task;
  const records = recordsOf(task);
  const edits: Edit[] = [];
  for (const file of client.files(server)) {
    const edit = await planEdit(file, records, placesOf(world)).catch((error: unknown) => {
      if (!(error instanceof NotMerged)) throw error;
      world.out(error.snippet);
      throw new PlainError(`${error.message} Nothing was written. Above is what the file needs.`);
    });
    if (edit !== null) edits.push(edit);
  }
  if (edits.length === 0) {
    world.say(`${client.title} is connected already.\n`);
    return 0;
  }
  const hide = secretHider([server.key]);
  for (const { target, merged } of edits) world.say(hide(showDiff(target.file, target.text, merged.text)));
  const command = undoCommand(task);
  if (!(await isAgreed(task, 'Write this?'))) {
    world.say(`The key of ${client.title} stays, for the next time. Revoke it: ${command}\n`);
    return 1;
  }
  const backups = await applyEdits(edits, records, server.key);
  for (const backup of backups) world.say(`The former file is kept as ${backup}\n`);
  world.say(`${client.title} is connected: ${client.tryIt}\nTake it back: ${command}\n`);
  return 0;
};

const isAgreed = async ({ flags, world }: Task, question: string): Promise<boolean> => {
  if (flags.has('yes')) return true;
  const answer = await world.confirm(question);
  if (answer === true) return true;
  world.say(
    answer === null ? 'Nothing was written: without a terminal, add --yes.\n' : 'Nothing was written.\n',
  );
  return false;
};

const undo = async (task: Task): Promise<number> => {
  const { client, world } = task;
  const records = recordsOf(task);
  const files = await records.read();
  const key = await records.readKey();
  if (files.length === 0 && key === null) {
    world.say(`This command has written nothing for ${client.title}.\n`);
    return 0;
  }
  const undoings = await Promise.all(files.map((record) => planUndo(record, records)));
  const hide = secretHider(files.map((record) => record.key));
  for (const { target, text, kept } of undoings) {
    if (text !== target.text) world.say(hide(showDiff(target.file, target.text, text)));
    if (kept.length > 0) world.say(`${target.file}: ${kept.join(', ')} changed since, and stays.\n`);
  }
  if (!(await isAgreed(task, 'Take this back?'))) return 1;
  // The last file first: a folder that was created for all of them is empty at the end.
  for (const undoing of undoings.toReversed()) await applyUndo(undoing);
  if (key !== null) await endKey(task, key);
  await records.write([]);
  const isWhole = undoings.every(({ kept }) => kept.length === 0);
  world.say(`${client.title}: ${isWhole ? 'taken back' : 'the rest was taken back'}.\n`);
  return 0;
};

/** Without it, nothing can use the settings that were taken back. */
const endKey = async ({ world, config }: Task, key: KeptKey): Promise<void> => {
  const invocation = thisInvocation(world.environment);
  if (await revokeKey(config, key, commandLine(invocation, 'serve')))
    world.say(`The key ${JSON.stringify(key.name)} was revoked.\n`);
  else
    world.say(
      `The server at ${key.url} could not be asked to revoke the key ${JSON.stringify(key.name)}. Revoke it: ${commandLine(invocation, 'keys', 'revoke', key.id)}\n`,
    );
};

/** One line for each client: its name, and whether this command has connected it. */
export const listClients = async (world: CommandContext, stateDir: string, url: string): Promise<string> => {
  const rows: string[] = [];
  for (const [name, client] of Object.entries<ConnectClient>(CLIENTS)) {
    const server = { ...NO_SERVER, url };
    const state =
      client.files(server).length === 0
        ? shellState(client.run(server)?.variables ?? {}, world.environment)
        : await stateOf(new Records(stateDir, name), world);
    rows.push(`${name.padEnd(12)} ${state.padEnd(24)} ${client.title}\n`);
    if (client.mcp === undefined) continue;
    const mcp = await stateOf(new Records(stateDir, `${name}-mcp`), world);
    if (mcp !== NOT_CONNECTED) rows.push(`${'  --mcp'.padEnd(12)} ${mcp}\n`);
  }
  return rows.join('');
};

/** For the addresses in the variables of a client. */
const NO_SERVER: Omit<ServerFacts, 'url'> = {
  key: '',
  keyFile: null,
  model: { id: '', isChosen: false, title: '', contextWindow: 0, maxOutputTokens: 0 },
};

/** Clients without a file are connected if the shell has their variables. */
const shellState = (variables: Variables, environment: CommandContext['environment']): string =>
  Object.entries(variables).every(([name, value]) => !name.endsWith('_URL') || environment[name] === value)
    ? 'connected in this shell'
    : NOT_CONNECTED;

const NOT_CONNECTED = 'not connected';

const stateOf = async (records: Records, world: CommandContext): Promise<string> => {
  try {
    const states = await Promise.all((await records.read()).map(fileState));
    if (states.length === 0) return NOT_CONNECTED;
    if (states.every((state) => state === 'there')) return 'connected';
    return states.every((state) => state === 'gone') ? 'settings removed since' : 'connected, changed since';
  } catch (error) {
    world.say(`${error instanceof Error ? error.message : String(error)}\n`);
    return 'unknown';
  }
};

/** Whether all, some or none of our settings are in the file. */
const fileState = async ({
  real,
  digest,
  format,
  changes,
}: FileRecord): Promise<'there' | 'changed' | 'gone'> => {
  const { text } = await readTarget(real);
  if (text === null) return 'gone';
  if (digestOf(text) === digest) return 'there';
  const { text: without, kept } = unmerge(FORMATS[format], text, changes);
  if (kept.length > 0) return 'changed';
  return without === text ? 'gone' : 'there';
};

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
