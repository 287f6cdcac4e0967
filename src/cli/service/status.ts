import { jsonLines } from '../../kit/text/display.ts';
import { existsSync } from 'node:fs';

import { readIfPresent } from '../../codex/home/files.ts';
import { ConfigError } from '../../config/load.ts';
import { loadSettings, addressOf } from '../explain.ts';
import { MARKER, serviceCommand, type ServiceTask, isServing } from './task.ts';
import { environmentOf } from './install.ts';
import type { ManagedState, ServiceManager } from './manager.ts';

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
