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
  process.on('SIGTERM', (signal) => void stop(signal));
  process.on('SIGINT', (signal) => void stop(signal));
};

start().catch((error: unknown) => {
  const isTheirs = error instanceof ConfigError || (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  const text = error instanceof Error ? (isTheirs ? error.message : error.stack) : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
});
