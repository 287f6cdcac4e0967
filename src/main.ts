#!/usr/bin/env node
import { createApp } from './app.ts';
import { banner } from './banner.ts';
import { ConfigError, loadConfig } from './config/load.ts';
import { listen } from './http/listen.ts';
import { createLogger } from './observe/log.ts';

const start = async (): Promise<void> => {
  const config = loadConfig(process.env);
  const logger = createLogger({ level: config.log.level });
  for (const warning of config.warnings) logger.warn(warning);
  const app = await createApp(config, { environment: process.env, logger });
  const listener = await listen(app.fetch, config.http).catch(async (error: unknown) => {
    await app.stop(0);
    throw error;
  });
  // On stderr, so that standard output holds nothing but log lines.
  process.stderr.write(banner(app, listener.url));

  let isStopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (isStopping) {
      logger.warn({ signal }, 'stopping at once');
      process.exit(1);
    }
    isStopping = true;
    logger.info({ signal }, 'stopping');
    listener.stop();
    await app.stop(config.http.drainTimeoutMs);
    await listener.close();
    process.exit(0);
  };
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, (signal) => void stop(signal));
  }
};

/** What a person can do something about, in one line; null for what is a bug of ours. */
const explain = (error: unknown): string | null => {
  if (error instanceof ConfigError) return error.message;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined) return null;
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    return `Cannot listen there (${code}): check PORT and PROXY_HOST.`;
  }
  return path === undefined
    ? null
    : `Cannot use ${path} (${code}): check PROXY_STATE_DIR and PROXY_CODEX_WORKDIR.`;
};

start().catch((error: unknown) => {
  const text = explain(error) ?? (error instanceof Error ? error.stack : String(error));
  process.stderr.write(`${text}\n`);
  process.exit(1);
});
