import { existsSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';

import { VERSION } from '../version.ts';
import type { CommandContext, RunCommand } from './read-command-line.ts';
import { PlainError, loadSettings, addressOf } from './explain.ts';
import { thisInvocation } from './invocation.ts';
import { installService, uninstallService, environmentOf } from './service/install.ts';
import {
  launchdManager,
  systemdManager,
  type ServiceManager,
  toolsIn,
  type ManagedState,
  type SystemUser,
} from './service/manager.ts';
import {
  findProgram,
  type FoundProgram,
  MARKER,
  serviceCommand,
  type ServiceTask,
  isServing,
} from './service/task.ts';
import { jsonLines } from '../kit/text/display.ts';
import { readIfPresent } from '../codex/home/files.ts';
import { ConfigError } from '../config/load.ts';

/** The machine that a service is installed on. */
export interface ServiceMachine {
  readonly platform: string;
  readonly user: SystemUser;
  readonly program: FoundProgram;
}

/** The usual exit code for wrong usage. */
const USAGE = 2;

/** The actions of each flag. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  yes: ['install', 'uninstall'],
  print: ['install'],
  json: ['status'],
};

/** Installs, removes or describes the service of this user. */
export const serviceOn =
  (machineOf: (world: CommandContext) => ServiceMachine): RunCommand =>
  async (flags, world, [action = '']) => {
    const useless = [...flags.keys()].find((flag) => FLAGS[flag]?.includes(action) !== true);
    if (useless !== undefined) {
      world.say(`--${useless} has no meaning with service ${action}. See codex-app-server-proxy --help.\n`);
      return USAGE;
    }
    const machine = machineOf(world);
    const { environment } = world;
    const manager = managerOf(machine, environment);
    const task = { ...machine, flags, world, manager, run: toolsIn(environment) };
    if (action === 'install') return installService(task);
    return action === 'uninstall' ? uninstallService(task) : serviceStatus(task);
  };

const managerOf = (
  { platform, user, program }: ServiceMachine,
  environment: CommandContext['environment'],
): ServiceManager => {
  if (platform === 'linux') return systemdManager({ ...user, environment });
  if (platform === 'darwin') return launchdManager({ ...user, environment });
  const command = `"${program.node}" "${program.script}"`;
  throw new PlainError(
    platform === 'win32'
      ? `Services are not supported on Windows. Let the Task Scheduler run ${command} when you sign in, or run the server in WSL or Docker: see docs/deployment.md.`
      : `Services are not supported on ${platform}. Let the service manager of the system run ${command}.`,
  );
};

const thisMachine = ({ environment }: CommandContext): ServiceMachine => {
  const { uid, username } = userInfo();
  return {
    platform: process.platform,
    user: { home: environment['HOME'] ?? homedir(), id: uid, name: username },
    program: findProgram({
      root: thisInvocation(environment).root,
      node: process.execPath,
      versions: [process.versions.node, VERSION],
      temporary: [tmpdir(), '/tmp', '/var/tmp', '/dev/shm', '/run'],
      exists: existsSync,
    }),
  };
};

export const service: RunCommand = serviceOn(thisMachine);

/** What is known about the service; the object of `--json`. */
interface ServiceStatus extends ManagedState {
  readonly manager: ServiceManager['kind'];
  readonly file: string;
  /** `foreign`: the file was not written by this command. */
  readonly installed: boolean | 'foreign';
  /** Programs of the file that do not exist any more. */
  readonly missing: readonly string[];
  /** Null: the port is not known. */
  readonly url: string | null;
  readonly server: 'ready' | 'not ready' | 'no answer' | null;
  /** Whether the service goes on after its user has signed out. */
  readonly lingers: boolean | null;
  readonly problem: string | null;
}

const ABSENT: ManagedState = { enabled: false, running: false, pid: null, state: '' };

/** Prints whether the service is installed and runs. The exit code is 0 if it runs. */
export const serviceStatus = async (task: ServiceTask): Promise<number> => {
  const { flags, world } = task;
  const status = await readStatus(task);
  world.out(flags.has('json') ? jsonLines(status) : describe(status, task));
  return status.running === true ? 0 : 1;
};

const readStatus = async (task: ServiceTask): Promise<ServiceStatus> => {
  const { manager, run } = task;
  const text = await readIfPresent(manager.file);
  const { command, variables } = manager.read(text ?? '');
  const known = { manager: manager.kind, file: manager.file };
  if (text === null) {
    const nothing = { missing: [], url: null, server: null, lingers: null, problem: null };
    return { ...known, installed: false, ...ABSENT, ...nothing };
  }
  return {
    ...known,
    installed: text.includes(MARKER) || 'foreign',
    ...(await manager.state(run)),
    missing: command.filter((file) => !existsSync(file)),
    ...(await serverOf(task, variables)),
    lingers: await manager.lingers(run),
  };
};

/** The server, at the address that the settings of the service say. */
const serverOf = async (
  task: ServiceTask,
  variables: Readonly<Record<string, string>>,
): Promise<Pick<ServiceStatus, 'url' | 'server' | 'problem'>> => {
  try {
    const { http } = await loadSettings(environmentOf(task, variables));
    if (http.port === 0) return { url: null, server: null, problem: null };
    return { url: addressOf(http), server: await isServing(http), problem: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { url: null, server: null, problem: error.message };
  }
};

const describe = (status: ServiceStatus, task: ServiceTask): string => {
  const { installed, file, enabled, running, pid, state, missing, url, server, lingers, problem } = status;
  if (installed === false) return `There is no service. Install it: ${serviceCommand(task, 'install')}\n`;
  const rows: readonly (readonly [string, string | null])[] = [
    ['file', `${file}${installed === 'foreign' ? ', not written by this command' : ''}`],
    ['at sign-in', yesOrNo(enabled, 'starts', 'does not start')],
    ['service', `${yesOrNo(running, 'runs', 'does not run')}${pid === null ? '' : `, process ${pid}`}`],
    ['state', state === '' ? null : state],
    ['server', url === null ? null : `${url}: ${server}`],
    ['sign-out', lingers === null ? null : lingers ? 'goes on' : 'stops; loginctl enable-linger keeps it'],
    ['log', task.manager.log],
    ...missing.map((name) => ['missing', `${name}: run ${serviceCommand(task, 'install')}`] as const),
    ['problem', problem],
  ];
  return rows.map(([name, text]) => (text === null ? '' : `${name.padEnd(11)} ${text}\n`)).join('');
};

const yesOrNo = (value: boolean | null, yes: string, no: string): string =>
  value === null ? 'unknown' : value ? yes : no;
