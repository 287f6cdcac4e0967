import path from 'node:path';

import type { Config } from '../config/schema.ts';
import { ALL_SETTINGS } from './feature-tables.ts';
import { secretsOf } from '../config/secrets.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { openCapture, type OpenCaptures } from '../capture/capture.ts';
import { VERSION } from '../version.ts';

/** Captures all requests if there is a directory for it, else those that an administrator asks for. */
export const captureOf = async (
  config: Config,
  ownKey: string | null,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'capturesLost'> },
): Promise<OpenCaptures> => {
  const { captureDir } = config.log;
  if (captureDir !== null)
    logger.warn({ captureDir }, 'requests and answers are written to files: PROXY_CAPTURE_DIR is set');
  return openCapture({
    directory: captureDir ?? path.join(config.state.dir, 'captures'),
    isAlways: captureDir !== null,
    clock: systemAmbient.clock,
    secrets: [
      ...secretsOf(config, ALL_SETTINGS),
      ...config.http.apiKeys,
      ...(ownKey === null ? [] : [ownKey]),
    ],
    settings: { version: VERSION, config: translatorSettings(config) },
    onOrder: (order) => logger.warn(order, 'the next requests and their answers are written to files'),
    onLost(reason, requestId, err) {
      metrics.capturesLost.inc({ reason });
      logger.warn({ requestId, reason, err }, 'capture of a request is incomplete');
    },
  });
};

/** The settings that translators read, without keys and addresses. */
const translatorSettings = (config: Config): object => {
  const { api, clients, tools, images, codex, upstream, mcpServers } = config;
  const { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs } = upstream;
  return {
    api,
    clients,
    tools,
    images,
    codex,
    upstream: { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs },
    mcpServers: mcpServers.map(({ label }) => label),
  };
};
