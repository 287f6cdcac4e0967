import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Flags } from '../command.ts';
import { PlainError } from '../explain.ts';

/** Removes a restriction. */
const ANY = 'any';

/** The fields of a key as its flags give them, in the form of the HTTP API, which checks them. */
export const fieldsOf = (flags: Flags, now: number): JsonObject =>
  Object.fromEntries(
    Object.entries(READERS).flatMap(([flag, [field, read]]) => {
      const text = flags.get(flag);
      return text === undefined ? [] : [[field, read(text, now)]];
    }),
  );

const list = (text: string): readonly string[] =>
  text === ANY ? [] : text.split(',').map((entry) => entry.trim());

/** The flags that describe a key, with their fields. */
const READERS: Readonly<Record<string, readonly [field: string, (text: string, now: number) => Json]>> = {
  name: ['name', (text) => text],
  note: ['note', (text) => text],
  scopes: ['scopes', list],
  models: ['models', list],
  effort: ['effort', (text) => (text === ANY ? null : text)],
  addresses: ['addresses', list],
  concurrency: ['concurrency', (text) => (text === ANY ? null : numberOr(text))],
  limit: ['limits', (text) => (text === 'none' ? [] : readLimits(text))],
  storage: ['storage_mb', (text) => (text === ANY ? 0 : text === 'default' ? null : numberOr(text))],
  expires: ['expires_at', (text, now) => (text === 'never' ? null : Math.floor(readEnd(text, now) / 1000))],
};

export const POLICY_FLAGS: readonly string[] = Object.keys(READERS);

/** What is not a number stays a text, which the check rejects. */
const numberOr = (text: string): number | string =>
  /^\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : text;

/** `tokens/day=1000000,model=gpt-*`: an entry that begins with `model=` belongs to the limit before it. */
const readLimits = (text: string): readonly JsonObject[] => {
  const limits: JsonObject[] = [];
  for (const entry of list(text)) {
    const [, model] = /^model=(.*)$/.exec(entry) ?? [];
    const last = limits.at(-1);
    if (model !== undefined && last !== undefined) limits[limits.length - 1] = { ...last, model };
    else limits.push(readLimit(entry));
  }
  return limits;
};

const readLimit = (text: string): JsonObject => {
  const [, unit, window, max] = /^([^/=]+)\/([^/=]+)=(.+)$/.exec(text) ?? [];
  if (unit === undefined || window === undefined || max === undefined) {
    throw new PlainError(
      `--limit ${text}: write a limit as tokens/day=1000000, requests/minute=20 or cost/month=50, and ,model=gpt-* after it for some models.`,
    );
  }
  return { unit, window, max: numberOr(max) };
};

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A duration such as `30d`, in milliseconds; null: another text. */
const durationIn = (text: string): number | null => {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const unitMs = UNITS[unit];
  return count === undefined || unitMs === undefined ? null : Number(count) * unitMs;
};

/** `30d` from now, or a date such as `2027-01-31` (its beginning in UTC) or `2027-01-31T18:00:00Z`. */
const readEnd = (text: string, now: number): number => {
  const length = durationIn(text);
  const end = length === null ? dateIn(text) : now + length;
  if (end === null)
    throw new PlainError(
      `--expires ${text}: write a duration such as 30d or 12h, a date such as 2027-01-31, or never.`,
    );
  if (end <= now) throw new PlainError(`--expires ${text}: this is not in the future.`);
  return end;
};

/** Null: another text, or a day that its month does not have, which the parser takes for one of the next month. */
const dateIn = (text: string): number | null => {
  const [, day] = /^(\d{4}-\d{2}-\d{2})(?:T.+)?$/.exec(text) ?? [];
  const date = Date.parse(text);
  if (day === undefined || Number.isNaN(date)) return null;
  return new Date(Date.parse(day)).toISOString().startsWith(day) ? date : null;
};

/** The overlap of a rotation as the field of the HTTP API. */
export const overlapOf = (text: string | undefined): JsonObject => {
  if (text === undefined) return {};
  const length = text === '0' ? 0 : durationIn(text);
  if (length === null)
    throw new PlainError(
      `--overlap ${text}: write a duration such as 24h or 7d, or 0 to end earlier secrets now.`,
    );
  return { overlap_seconds: length / 1000 };
};
