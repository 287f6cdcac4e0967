import { randomBytes } from 'node:crypto';

/** A UUID that starts with its creation time, as codex and its backend use them. */
export const uuidV7 = (nowMs: number): string => {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
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
