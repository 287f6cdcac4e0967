import path from 'node:path';

import { z } from 'zod';

import { parseBody, unreadFields } from '../../apis/validation.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { ignoredHeader } from '../../http/answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../../http/body/read-json.ts';
import { bodyObject } from '../../openai/chat/common.ts';
import { VERSION } from '../../version.ts';
import { openCapture, type CaptureStatus, type OpenCaptures } from './capture.ts';
import type { CAPTURE_TABLES } from './feature.ts';

/** Captures all requests if there is a directory for it, else those that an administrator asks for. */
export const openCaptures = async (
  { ambient, bodies, configuredKeys, logger, secrets, stateDir, translatorSettings }: Core,
  { settings: { captureDir }, metrics }: Own<typeof CAPTURE_TABLES>,
): Promise<OpenFeature<typeof CAPTURE_TABLES>> => {
  if (captureDir !== null)
    logger.warn({ captureDir }, 'requests and answers are written to files: PROXY_CAPTURE_DIR is set');
  const captures = await openCapture({
    directory: captureDir ?? path.join(stateDir, 'captures'),
    isAlways: captureDir !== null,
    clock: ambient.clock,
    secrets: [...secrets, ...configuredKeys.texts],
    settings: { version: VERSION, config: translatorSettings },
    onOrder: (order) => logger.warn(order, 'the next requests and their answers are written to files'),
    onLost(reason, requestId, err) {
      metrics.capturesLost.inc({ reason });
      logger.warn({ requestId, reason, err }, 'capture of a request is incomplete');
    },
  });
  return {
    routes: captureRoutes(captures, bodies),
    offers: { captures },
    close: () => captures.close(),
  };
};

const NOT_CACHED = { 'cache-control': 'no-store' };

/** Switches capture on for the next requests, and off again, without a restart. */
const captureRoutes = (
  captures: OpenCaptures,
  bodies: BodyDeps,
): NonNullable<OpenFeature<typeof CAPTURE_TABLES>['routes']> => {
  const show = (headers: Readonly<Record<string, string>> = {}): Response =>
    Response.json(projectStatus(captures.status()), { headers: { ...headers, ...NOT_CACHED } });
  return {
    'GET /v1/codex/captures': () => show(),
    async 'POST /v1/codex/captures'(http, exchange) {
      const { order, ignored } = readOrder(await readHeldBody(http, exchange, bodies));
      await captures.order(order);
      return show(ignoredHeader(ignored));
    },
    'DELETE /v1/codex/captures'() {
      captures.cancel();
      return show();
    },
  };
};

const projectStatus = ({ mode, directory, order }: CaptureStatus) => ({
  object: 'codex.captures',
  mode,
  directory,
  key_id: order?.keyId ?? null,
  requests_left: order?.requests ?? null,
  expires_at: order === null ? null : Math.floor(order.expiresAt / 1000),
});

const MAX_REQUESTS = 100;
const MAX_KEY_ID_CHARS = 200;

const orderSchema = z.object({
  requests: z.int().min(1).max(MAX_REQUESTS),
  key_id: z.string().min(1).max(MAX_KEY_ID_CHARS).nullish(),
});

/** Parses the body that has the next requests captured. */
const readOrder = (body: unknown) => {
  const object = bodyObject(body);
  const { requests, key_id: keyId } = parseBody(orderSchema, object);
  return { order: { requests, keyId: keyId ?? null }, ignored: unreadFields(orderSchema, object, '') };
};
