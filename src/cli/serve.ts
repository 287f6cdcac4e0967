import { stat } from 'node:fs/promises';
import { isatty } from 'node:tty';

import { createApp, type App } from '../compose/app.ts';
import { shownKey, banner, type BannerFacts, describeState, type BackendState } from '../compose/banner.ts';
import { valuesOf, type Config, secretsOf } from '../config/schema.ts';
import { ALL_SETTINGS } from '../compose/features.ts';
import { CAPTURE_TABLES } from '../features/captures/feature.ts';
import { CONSOLE_TABLES } from '../features/console/feature.ts';
import { errorResponse } from '../http/answer/error-response.ts';
import { createCors } from '../http/guards/cors.ts';
import { listen, type Listener } from '../http/listen/listen.ts';
import { startingFetch } from '../http/listen/starting.ts';
import { within } from '../kit/async/wait.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { createLogger, type Logger } from '../observe/log.ts';
import { createLogSink, type LineWriter, type LogSink } from '../observe/log-sink.ts';
import type { RunCommand, CommandContext } from './read-command-line.ts';
import { explainListening, PlainError, loadSettings } from './explain.ts';
import { commandLine, secretSettings, thisInvocation } from './invocation.ts';
import { standardOutput } from './standard-output.ts';
import { createPrettyLine } from '../observe/pretty-log.ts';
import { createProgressLine } from './progress.ts';
/** Time for the last log lines. */
const LAST_LINES_MS = 2_000;

/** For the name of the default model: the banner does not wait long for it. */
const MODEL_LIMIT_MS = 2_000;

export const serve: RunCommand = async (_flags, world) => {
  const config = await loadSettings(world.environment);
  if (config.upstream.baseUrl === null) await requireNamedHome(config.upstream.codexHome);
  const sink = createLogSink(standardOutput());
  const stopWatching = watchParent({
    environment: world.environment,
    parentId: () => process.ppid,
    onEnded: () => void process.kill(process.pid, 'SIGTERM'),
  });
  // Also if an uncaught error ends the process.
  process.on('exit', () => sink.close());
  try {
    return await run(config, sink, world);
  } finally {
    stopWatching();
    await sink.flush(LAST_LINES_MS);
  }
};

const run = async (config: Config, sink: LogSink, world: CommandContext): Promise<number> => {
  const logger = createLogger({
    level: config.log.level,
    destination: logLines(sink, config.log.format, world),
    secrets: secretsOf(config, ALL_SETTINGS),
  });
  sink.onResumed((lines) => logger.warn({ lines }, 'log lines were dropped'));
  for (const warning of config.warnings) logger.warn(warning);
  const cors = createCors(config.http.corsAllowedOrigins);
  let running: App | null = null;
  const listener = await listen(
    (http, connectionInfo) => running?.fetch(http, connectionInfo) ?? startingFetch(http, cors),
    {
      ...config.http,
      upgrades: () => running?.upgrades ?? null,
      refuse: (failed, origin) =>
        running?.refuse(failed, origin) ?? cors.share(errorResponse(failed), origin ?? null),
      onAcceptError: (err) => logger.warn({ err }, 'a connection could not be accepted'),
    },
  ).catch((error: unknown) => {
    throw explainListening(error, config.http);
  });
  const progress = showStart(world);
  const app = await createApp(config, {
    environment: world.environment,
    logger,
    log: sink,
    onStarting: (state) => progress.onStarting(state),
  }).finally(() => progress.end());
  running = app;
  const transport = config.upstream.wire === 'off' ? null : config.upstream.chatgptTransport;
  world.say(
    bannerOf(app, listener, {
      ...world,
      ...valuesOf(CAPTURE_TABLES.settings, config),
      model: await within(app.standardModel(), MODEL_LIMIT_MS),
      transport,
      store: app.store,
      hasConsole: valuesOf(CONSOLE_TABLES.settings, config).console !== 'off',
    }),
  );
  void app.warmUp().catch((err: unknown) => logger.debug({ err }, 'the warm-up could not begin'));
  // Until here a signal ends the process at once. What an app-server leaves behind is removed at the next start.
  const signals = watchSignals();
  const stopped = stop(await signals.first, { app, listener, config, logger, world });
  const stoppedAtOnce = signals.second.then((signal) => {
    logger.warn({ signal }, 'stopping immediately');
    return 1;
  });
  return Promise.race([stopped, stoppedAtOnce]);
};

/** Without this check a misspelt path would look like a home without a login. */
const requireNamedHome = async (home: string | null): Promise<void> => {
  if (home === null) return;
  const isThere = await stat(home).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isThere)
    throw new PlainError(`CODEX_HOME=${home} is not a folder: correct the path, or unset CODEX_HOME.`);
};

const bannerOf = (
  app: App,
  { url }: Listener,
  {
    environment,
    captureDir,
    model,
    transport,
    store,
    hasConsole,
  }: CommandContext & Pick<BannerFacts, 'captureDir' | 'model' | 'transport' | 'store' | 'hasConsole'>,
): string => {
  const invocation = thisInvocation(environment);
  return banner({
    url,
    key: shownKey(app.ownKey, process.platform),
    state: app.state(),
    model,
    transport,
    store,
    hasConsole,
    now: new Date(systemAmbient.clock.now()),
    captureDir,
    commands: { login: commandLine(invocation, 'login'), doctor: commandLine(invocation, 'doctor') },
    secretSettings: secretSettings(environment),
  });
};

interface RunningServer {
  readonly app: App;
  readonly listener: Listener;
  readonly config: Config;
  readonly logger: Logger;
  readonly world: CommandContext;
}

const stop = async (signal: NodeJS.Signals, running: RunningServer): Promise<number> => {
  const { app, listener, config, logger, world } = running;
  logger.info({ signal }, 'stopping');
  const answers = app.answersUnderWay();
  if (answers > 0) world.say(waitingFor(answers, config.http.drainTimeoutMs, signal));
  listener.stop();
  await app.stop(config.http.drainTimeoutMs);
  await listener.close();
  return 0;
};

const waitingFor = (answers: number, timeoutMs: number, signal: NodeJS.Signals): string => {
  const what = answers === 1 ? '1 answer is' : `${answers} answers are`;
  const atOnce = signal === 'SIGINT' ? 'Press Ctrl-C again' : `Send ${signal} again`;
  return `\n  Stopping: ${what} in progress and may take ${timeoutMs / 1000} s to finish. ${atOnce} to stop immediately.\n`;
};

const STANDARD_OUTPUT = 1;

/** Formats log lines as configured: for people in a terminal, as JSON for programs. */
export const logLines = (
  sink: LineWriter,
  format: Config['log']['format'],
  { environment }: Pick<CommandContext, 'environment'>,
  isTerminal = isatty(STANDARD_OUTPUT),
): LineWriter => {
  if (format === 'json' || (format === 'auto' && !isTerminal)) return sink;
  // no-color.org: any value but the empty one.
  const colour = isTerminal && (environment['NO_COLOR'] ?? '') === '';
  const pretty = createPrettyLine({ colour });
  return { write: (line) => sink.write(pretty(line)) };
};

const LOOK_EVERY_MS = 250;

export interface ParentWatch {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly parentId: () => number;
  readonly onEnded: () => void;
}

/**
 * Calls `onEnded` when the shell of an npm script has ended. npm sends a SIGTERM to that shell, and most shells end
 * without passing it on, which would leave the server running. Returns a function that stops watching.
 */
export const watchParent = ({ environment, parentId, onEnded }: ParentWatch): (() => void) => {
  if (environment['npm_lifecycle_event'] === undefined) return () => {};
  const first = parentId();
  const timer = setInterval(() => {
    if (parentId() === first) return;
    clearInterval(timer);
    onEnded();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
};

const NAMES = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Some versions of npm repeat a Ctrl-C that the terminal has already sent: it counts once. */
const ECHO_MS = 200;

/** Catches the signals that end this process. `first` and `second` resolve when they arrive. */
export const watchSignals = (
  source: NodeJS.Process = process,
  now: () => number = () => performance.now(),
): { readonly first: Promise<NodeJS.Signals>; readonly second: Promise<NodeJS.Signals> } => {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | null = null;
  for (const name of NAMES) {
    source.on(name, (signal) => {
      if (firstAt !== null && now() - firstAt < ECHO_MS) return;
      if (firstAt !== null) second.resolve(signal);
      firstAt ??= now();
      first.resolve(signal);
    });
  }
  return { first: first.promise, second: second.promise };
};

interface StartProgress {
  /** The backend is chosen; its app-server starts now. */
  onStarting(state: BackendState): void;
  /** The start has ended or failed. */
  end(): void;
}

/** Says what a start waits for. In whole lines, because the log may be on the same terminal. */
export const showStart = ({
  environment,
  say,
}: Pick<CommandContext, 'environment' | 'say'>): StartProgress => {
  const line = createProgressLine({ stream: { write: say }, environment });
  let progress = line.start('waiting for the database and the folders of codex');
  let isStarting = true;
  return {
    onStarting(state) {
      // A later login starts another app-server.
      if (!isStarting) return;
      progress.end();
      // The banner begins with what to do about it.
      if (state.kind !== 'signed-out')
        say(`starting codex app-server for its backend: ${shortly(state)} …\n`);
      progress = line.start('still waiting for codex app-server to start and to list the models');
    },
    end() {
      isStarting = false;
      progress.end();
    },
  };
};

/** The first URL on standard error must be that of this server: scripts look for it. */
const shortly = (state: BackendState): string =>
  state.kind === 'upstream' ? `the provider ${new URL(state.baseUrl).host}` : describeState(state);
