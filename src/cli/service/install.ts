import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import { readIfPresent, writeAtomically } from '../../codex/home/files.ts';
import type { Config } from '../../config/schema.ts';
import { loadOrCreateApiKey } from '../../http/guards/api-key-file.ts';
import { shellQuoted } from '../../kit/text/display.ts';
import { showDiff } from '../connect/show-diff.ts';
import { PlainError } from '../explain.ts';
import { loadSettings } from '../load-settings.ts';
import { addressOf } from '../server-address.ts';
import { MARKER, type ServiceDefinition } from './definition.ts';
import { isServing } from './is-serving.ts';
import { isAgreed, runSteps, serviceCommand, type ServiceTask } from './task.ts';
import { serviceVariables } from './variables.ts';

/** The server needs some time of its own after its last answer. */
const STOP_MARGIN_SECONDS = 15;
const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 500;

/** Shows the file of the service, writes it after a yes, and starts the service. */
export const installService = async (task: ServiceTask): Promise<number> => {
  const { flags, world, manager, program } = task;
  const { variables, warnings } = serviceVariables(world.environment, process.cwd());
  const config = await loadSettings(environmentOf(task, variables));
  const stopSeconds = Math.ceil(config.http.drainTimeoutMs / 1000) + STOP_MARGIN_SECONDS;
  const definition: ServiceDefinition = { ...program, variables, stopSeconds };
  const text = manager.text(definition);
  for (const warning of [...warnings, ...program.warnings, ...rootWarning(task)]) world.say(`${warning}\n`);
  const refusal = program.refusal ?? manager.problem(definition);
  if (flags.has('print')) {
    world.say(`${refusal === null ? '' : `${refusal}\n`}${manager.file}:\n`);
    world.out(text);
    return 0;
  }
  if (refusal !== null) throw new PlainError(refusal);
  await requireFreePort(task, config);
  const present = await readIfPresent(manager.file);
  if (present !== null && !present.includes(MARKER))
    throw new PlainError(`${manager.file} was not written by this command: move it away first.`);
  if (present !== text) {
    world.say(showDiff(manager.file, present, text));
    if (!(await isAgreed(task, `Write this ${manager.title}, and start the service?`))) return 1;
    await mkdir(path.dirname(manager.file), { recursive: true });
    await writeAtomically(manager.file, text);
  }
  // The first start would otherwise show the key in the log of the service.
  if (config.http.apiKeys.length === 0) await loadOrCreateApiKey(config.state.dir);
  return start(task, config, stopSeconds);
};

/** What the service reads of the environment. */
export const environmentOf = (
  { user }: Pick<ServiceTask, 'user'>,
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({ HOME: user.home, ...variables });

/** Another server at the same port would make every start of the service fail. */
const requireFreePort = async ({ manager, run }: ServiceTask, { http }: Config): Promise<void> => {
  if (http.port === 0 || (await isServing(http)) === 'no answer') return;
  if ((await manager.state(run)).running === true) return;
  throw new PlainError(`A server runs at ${addressOf(http)} already: stop it, or set PORT to another port.`);
};

const rootWarning = ({ user, manager }: ServiceTask): readonly string[] =>
  user.id === 0 && manager.kind === 'systemd'
    ? ['You are root: this is a service of the user root. For a system service see docs/deployment.md.']
    : [];

const start = async (task: ServiceTask, config: Config, stopSeconds: number): Promise<number> => {
  const { world, manager, run } = task;
  const progress = world.progress('starting the service');
  try {
    const problem = await runSteps(task, manager.start, (stopSeconds + STOP_MARGIN_SECONDS) * 1000);
    if (problem !== null) {
      world.say(notStarted(task, problem));
      return 1;
    }
    progress.show('waiting for the server');
    const isReady = await becomesReady(config.http, task);
    const { running, state } = await manager.state(run);
    if (!isReady || running === false) {
      world.say(
        `The service is installed, but the server is not ready (${state}). Its log: ${manager.log}\n` +
          `To find out why: ${serviceCommand(task, 'status')}, and: ${directCommand(task)} doctor\n`,
      );
      return 1;
    }
  } finally {
    progress.end();
  }
  const url = config.http.port === 0 ? 'see its log for the port' : addressOf(config.http);
  world.say(
    `The service runs: ${url}\nIts log: ${manager.log}\nRemove it: ${serviceCommand(task, 'uninstall')}\n`,
  );
  if ((await manager.lingers(run)) === false)
    world.say('It stops when you sign out. To keep it running: loginctl enable-linger\n');
  return 0;
};

/** Whether the server answers before the time is up. With `PORT=0` its address is not known. */
const becomesReady = async (http: Config['http'], { manager, run }: ServiceTask): Promise<boolean> => {
  if (http.port === 0) return true;
  for (let waited = 0; waited < READY_WITHIN_MS; waited += LOOK_EVERY_MS) {
    if ((await isServing(http)) === 'ready') return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    // A wrong setting ends it at once.
    if ((await manager.state(run)).state.startsWith('failed')) return false;
  }
  return false;
};

/** Runs the program without a service. */
const directCommand = ({ program }: ServiceTask): string =>
  [program.node, program.script].map((word) => shellQuoted(word, process.platform)).join(' ');

const notStarted = (task: ServiceTask, problem: string): string => {
  const { manager } = task;
  const commands = manager.start
    .filter(({ mayFail }) => mayFail !== true)
    .map(({ words }) => `  ${words.join(' ')}\n`);
  return (
    `${manager.file} is written, but the service could not be started:\n  ${problem}\n` +
    (manager.kind === 'systemd'
      ? 'Containers, WSL without systemd, and sessions of su or sudo have no systemd for the user. '
      : 'A session without a desktop, such as that of ssh, has no launchd domain for agents. ') +
    `Where there is one, run:\n${commands.join('')}Elsewhere let your own supervisor run:\n  ${directCommand(task)}\n`
  );
};
