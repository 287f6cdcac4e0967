import { mkdir, readlink, rm } from 'node:fs/promises';
import path from 'node:path';

import { readIfPresent, writeAtomically } from '../../codex/home/files.ts';
import { ALL_SETTINGS } from '../../compose/features.ts';
import type { Config } from '../../config/schema.ts';
import { loadOrCreateApiKey } from '../../http/guards/own-secrets.ts';
import { shellQuoted } from '../../kit/text/display.ts';
import { showDiff } from '../connect/target.ts';
import { PlainError, loadSettings, addressOf } from '../explain.ts';
import {
  MARKER,
  type ServiceDefinition,
  isAgreed,
  runSteps,
  serviceCommand,
  type ServiceTask,
  isServing,
} from './task.ts';
import type { SettingRow } from '../../config/setting-row.ts';
import { absolutePath } from '../../config/paths.ts';

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
  { user }: ServiceTask,
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

/** Answers may take as long as the settings of the service allow. */
const STOP_WITHIN_MS = 120_000;

/** Stops the service and removes what `service install` wrote; nothing else. */
export const uninstallService = async (task: ServiceTask): Promise<number> => {
  const { world, manager } = task;
  const present = await readIfPresent(manager.file);
  if (present === null) {
    world.say(`There is no service: ${manager.file} does not exist.\n`);
    return 0;
  }
  if (!present.includes(MARKER))
    throw new PlainError(`${manager.file} was not written by this command, and stays.`);
  if (!(await isAgreed(task, `Stop the service and remove ${manager.file}?`))) return 1;
  const progress = world.progress('stopping the service');
  try {
    await runSteps(task, manager.stop, STOP_WITHIN_MS);
    await rm(manager.file, { force: true });
    // A manager that runs has removed them already.
    for (const link of manager.links) {
      const target = await readlink(link).catch(() => null);
      if (target !== null) await rm(link, { force: true });
    }
    await runSteps(task, manager.forget, STOP_WITHIN_MS);
  } finally {
    progress.end();
  }
  const { running } = await manager.state(task.run);
  if (running === true) {
    world.say(`${manager.file} is removed, but the service still runs: stop its process.\n`);
    return 1;
  }
  world.say(`The service is removed. Settings, keys and stored responses stay in the state directory.\n`);
  return 0;
};

type Environment = Readonly<Record<string, string | undefined>>;

interface ServiceVariables {
  readonly variables: Readonly<Record<string, string>>;
  /** Sentences about variables that are set here and are not written into the file. */
  readonly warnings: readonly string[];
}

/** How the network is reached, which a service manager does not know. */
const NETWORK = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'https_proxy',
  'http_proxy',
  'all_proxy',
  'no_proxy',
];
const CERTIFICATES = ['CODEX_CA_CERTIFICATE', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
/** Read by OpenTelemetry. Their headers hold keys. */
const TELEMETRY = /^OTEL_/;
const TELEMETRY_SECRET = /^OTEL_\w*HEADERS$/;
const TELEMETRY_PATH = /^OTEL_\w*(?:CERTIFICATE|CLIENT_KEY)$/;

const settingNamed = (name: string): SettingRow | null => ALL_SETTINGS[name] ?? null;

/**
 * The variables of this environment that the server reads. Paths become absolute. A secret is never among them: service
 * managers show the environment of a service to others.
 */
export const serviceVariables = (environment: Environment, directory: string): ServiceVariables => {
  const variables: Record<string, string> = {};
  const warnings: string[] = [];
  const telemetry = Object.keys(environment).filter((name) => TELEMETRY.test(name));
  for (const name of [...Object.keys(ALL_SETTINGS), ...NETWORK, ...CERTIFICATES, ...telemetry]) {
    const value = environment[name]?.trim() ?? '';
    if (value === '') continue;
    const setting = settingNamed(name);
    const isPath = setting?.type.isPath === true || CERTIFICATES.includes(name) || TELEMETRY_PATH.test(name);
    if (isSecret(setting, value) || TELEMETRY_SECRET.test(name)) {
      warnings.push(
        setting === null
          ? `${name} contains a password and is not written into the file: the service runs without it.`
          : `${name} is a secret and is not written into the file: put it into the config file, see docs/configuration.md.`,
      );
    } else if (CONTROLS.test(value)) {
      warnings.push(`${name} contains line breaks or control characters and is not written into the file.`);
    } else variables[name] = isPath ? absolutePath(value, directory) : value;
  }
  return { variables, warnings };
};

/** A URL may contain a password, too. */
const isSecret = (setting: SettingRow | null, value: string): boolean =>
  setting?.secret === true || /\/\/[^/?#]*@/.test(value);

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROLS = /[\u0000-\u001F\u007F-\u009F]/;
