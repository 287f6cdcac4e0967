import { existsSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';

import { VERSION } from '../version.ts';
import type { CommandContext, Run } from './read-command-line.ts';
import { PlainError } from './explain.ts';
import { thisInvocation } from './invocation.ts';
import { installService, uninstallService } from './service/install.ts';
import {
  launchdManager,
  systemdManager,
  type ServiceManager,
  type ServiceUser,
  toolsIn,
} from './service/manager.ts';
import { findProgram, type FoundProgram } from './service/task.ts';
import { serviceStatus } from './service/status.ts';

/** The machine that a service is installed on. */
export interface ServiceMachine {
  readonly platform: string;
  readonly user: Omit<ServiceUser, 'environment'>;
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
  (machineOf: (world: CommandContext) => ServiceMachine): Run =>
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

export const service: Run = serviceOn(thisMachine);
