import { randomUUID } from 'node:crypto';

/** A UUID that starts with its creation time, as codex and its backend use them. */
export const uuidV7 = (nowMs: number): string => {
  const time = nowMs.toString(16).padStart(12, '0');
  // Node caches random bytes for these, so they cost no system call.
  const random = randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
};

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** UUIDs of version 7 did not exist before. */
const EARLIEST_MS = Date.UTC(2020, 0);
/** Clocks differ. */
const AHEAD_MS = 24 * 60 * 60 * 1000;

/** Whether a text is a genuine UUIDv7 with a plausible time. */
export const isRealUuidV7 = (text: string, nowMs: number): boolean => {
  if (!UUID_V7.test(text)) return false;
  const madeAt = Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16);
  return madeAt >= EARLIEST_MS && madeAt <= nowMs + AHEAD_MS;
};
