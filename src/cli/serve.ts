import { stat } from 'node:fs/promises';

import { createApp, type App } from '../compose/app.ts';
import { shownKey } from '../compose/about-server.ts';
import { banner, type BannerFacts } from '../compose/banner.ts';
import type { Config } from '../config/schema.ts';
import { ALL_SETTINGS } from '../compose/feature-tables.ts';
import { secretsOf } from '../config/secrets.ts';
import { errorResponse } from '../http/answer/error-response.ts';
import { createCors } from '../http/guards/cors.ts';
import { listen, type Listener } from '../http/listen/listen.ts';
import { startingFetch } from '../http/listen/starting.ts';
import { within } from '../kit/async/wait.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { createLogger, type Logger } from '../observe/log.ts';
import { createLogSink, type LogSink } from '../observe/log-sink.ts';
import type { Run, CommandContext } from './command.ts';
import { explainListening, PlainError } from './explain.ts';
import { commandLine, secretSettings, thisInvocation } from './invocation.ts';
import { loadSettings } from './load-settings.ts';
import { logLines } from './log-lines.ts';
import { watchParent } from './parent-ended.ts';
import { watchSignals } from './signals.ts';
import { showStart } from './start-progress.ts';
import { standardOutput } from './standard-output.ts';

/** Time for the last log lines. */
const LAST_LINES_MS = 2_000;

/** For the name of the default model: the banner does not wait long for it. */
const MODEL_LIMIT_MS = 2_000;

export const serve: Run = async (_flags, world) => {
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
      captureDir: config.log.captureDir,
      model: await within(app.standardModel(), MODEL_LIMIT_MS),
      transport,
      store: app.store,
      hasConsole: config.http.console !== 'off',
    }),
  );
  // Until here a signal ends the process at once: nothing has started yet.
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

interface Running {
  readonly app: App;
  readonly listener: Listener;
  readonly config: Config;
  readonly logger: Logger;
  readonly world: CommandContext;
}

const stop = async (signal: NodeJS.Signals, running: Running): Promise<number> => {
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
