import type { JsonObject } from '../kit/json/json.ts';
import { statusOf, type ApiKey } from './key.ts';

/** A key as JSON, over HTTP and on the command line. Times are in seconds, as in OpenAI's API. */
export const projectKey = (key: ApiKey, now: number): JsonObject => ({
  object: 'codex.key',
  id: key.id,
  name: key.name,
  note: key.note,
  hint: key.hint,
  scopes: key.scopes,
  models: key.models,
  effort: key.effort,
  addresses: key.addresses,
  concurrency: key.concurrency,
  limits: key.limits.map(({ unit, window, max, model }) => ({ unit, window, max, model })),
  storage_mb: key.storageMb,
  status: statusOf(key, now),
  created_at: seconds(key.createdAt),
  expires_at: key.expiresAt === null ? null : seconds(key.expiresAt),
  last_used_at: key.lastUsedAt === null ? null : seconds(key.lastUsedAt),
});

const seconds = (ms: number): number => Math.floor(ms / 1000);
