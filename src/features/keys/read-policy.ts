import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { EFFORTS } from '../../canonical/models/model-names.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import { parseRange } from '../../http/guards/client-address.ts';
import type { Scope } from '../../http/guards/scopes.ts';
import { type KeyLimit, type KeyPolicy, LIMIT_UNITS, LIMIT_WINDOWS } from './key.ts';

/** The fields of a key that its administrator chooses, as JSON. The same over HTTP and on the command line. */
export const readPolicy = (fields: JsonObject, now: number): KeyPolicy => {
  if (fields['name'] === undefined) {
    throw gatewayError('missing_required_parameter', {
      param: 'name',
      message: "Missing required parameter: 'name'.",
    });
  }
  return { ...DEFAULTS, ...readChanges(fields, now) };
};

const DEFAULTS: KeyPolicy = {
  name: '',
  note: '',
  scopes: ['infer'],
  models: [],
  workspaces: [],
  effort: null,
  addresses: [],
  concurrency: null,
  limits: [],
  storageMb: null,
  expiresAt: null,
};

/** Only the fields that are given. Throws a 400 that names the first wrong field. */
export const readChanges = (fields: JsonObject, now: number): Partial<KeyPolicy> => {
  const changes: Partial<KeyPolicy>[] = Object.entries(fields).map(([name, value]) => {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined;
    if (field === undefined) {
      throw gatewayError('unsupported_parameter', {
        param: quoted(name),
        message: `Unknown parameter: '${quoted(name)}'.`,
      });
    }
    return value === undefined ? {} : field({ value, at: name, now });
  });
  return Object.assign({}, ...changes) as Partial<KeyPolicy>;
};

interface Field {
  readonly value: Json;
  /** Its place, such as `limits[0].max`. */
  readonly at: string;
  readonly now: number;
}

const MAX_NAME_CHARS = 100;
const MAX_NOTE_CHARS = 1_000;
const MAX_ENTRIES = 100;
const MAX_LIMITS = 20;
const MAX_CONCURRENCY = 100_000;
const MAX_LIMIT = 1e15;
const MAX_STORAGE_MB = 1e9;
/** Of a JavaScript date, in seconds. */
const MAX_SECONDS = 8.64e12;
const SCOPES: readonly Scope[] = ['infer', 'read', 'admin'];
const MODEL_PATTERN = /^[\x21-\x7e]{1,200}$/;
const WORKSPACE_PATTERN = /^[\w*-]{1,64}$/;

const FIELDS = {
  name: (field: Field) => ({ name: readName(field) }),
  note: (field: Field) => ({ note: readText(field, MAX_NOTE_CHARS) }),
  scopes: (field: Field) => ({ scopes: readScopes(field) }),
  models: (field: Field) => ({ models: readList(field, readPattern) }),
  workspaces: (field: Field) => ({ workspaces: readList(field, readWorkspaces) }),
  effort: (field: Field) => ({ effort: orNull(field, (one) => readChoice(one, EFFORTS)) }),
  addresses: (field: Field) => ({ addresses: readList(field, readAddress) }),
  concurrency: (field: Field) => ({
    concurrency: orNull(field, (one) => readWhole(one, 1, MAX_CONCURRENCY)),
  }),
  limits: (field: Field) => ({ limits: readLimits(field) }),
  storage_mb: (field: Field) => ({ storageMb: orNull(field, (one) => readWhole(one, 0, MAX_STORAGE_MB)) }),
  expires_at: (field: Field) => ({ expiresAt: orNull(field, readExpiry) }),
} satisfies Record<string, (field: Field) => Partial<KeyPolicy>>;

const wrong = (at: string, expected: string): GatewayError =>
  gatewayError('invalid_value', { param: at, message: `Invalid '${at}': expected ${expected}.` });

const orNull = <Value>(field: Field, readValue: (field: Field) => Value): Value | null =>
  field.value === null ? null : readValue(field);

const readText = ({ value, at }: Field, maxChars: number): string => {
  if (typeof value !== 'string' || value.length > maxChars)
    throw wrong(at, `a string of at most ${maxChars} characters`);
  return value;
};

/** A name is shown in tables: one line without blanks at its ends. */
const readName = (field: Field): string => {
  const name = readText(field, MAX_NAME_CHARS);
  if (name === '' || name.trim() !== name || /\p{Cc}|\p{Cs}/u.test(name))
    throw wrong(field.at, 'a name in one line, which does not begin or end with a space');
  return name;
};

const readChoice = <Choice extends string>({ value, at }: Field, choices: readonly Choice[]): Choice => {
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw wrong(at, `one of ${choices.join(', ')}`);
  return choice;
};

const readList = <Value>(
  { value, at, now }: Field,
  readEntry: (field: Field) => Value,
  maxEntries = MAX_ENTRIES,
): readonly Value[] => {
  if (!Array.isArray(value) || value.length > maxEntries)
    throw wrong(at, `an array of at most ${maxEntries} entries`);
  return (value as readonly Json[]).map((entry, index) =>
    readEntry({ value: entry, at: `${at}[${index}]`, now }),
  );
};

const readScopes = (field: Field): readonly Scope[] => {
  const scopes = new Set(readList(field, (one) => readChoice(one, SCOPES)));
  if (scopes.size === 0) throw wrong(field.at, `at least one of ${SCOPES.join(', ')}`);
  return SCOPES.filter((scope) => scopes.has(scope));
};

const readPattern = ({ value, at }: Field): string => {
  if (typeof value !== 'string' || !MODEL_PATTERN.test(value))
    throw wrong(at, 'the name of a model without spaces, in which * matches anything');
  return value;
};

const readWorkspaces = ({ value, at }: Field): string => {
  if (typeof value !== 'string' || !WORKSPACE_PATTERN.test(value))
    throw wrong(at, 'the name of a workspace, in which * matches anything');
  return value;
};

const readAddress = ({ value, at }: Field): string => {
  if (typeof value !== 'string' || parseRange(value) === null)
    throw wrong(at, 'an IP address or a range such as 10.0.0.0/8');
  return value;
};

const readWhole = ({ value, at }: Field, min: number, max: number): number => {
  if (!Number.isSafeInteger(value) || Number(value) < min || Number(value) > max)
    throw wrong(at, `a whole number from ${min} to ${max}`);
  return value as number;
};

/** Seconds since the Unix epoch, as everywhere in OpenAI's API. */
const readExpiry = (field: Field): number => {
  const ms = readWhole(field, 0, MAX_SECONDS) * 1000;
  if (ms <= field.now) throw wrong(field.at, 'a time in the future, in seconds since 1970');
  return ms;
};

const readLimits = (field: Field): readonly KeyLimit[] => {
  const limits = readList(field, readLimit, MAX_LIMITS);
  limits.forEach(({ unit, window, model }, index) => {
    const first = limits.findIndex(
      (one) => one.unit === unit && one.window === window && one.model === model,
    );
    if (first < index) throw wrong(`${field.at}[${index}]`, `another limit than ${field.at}[${first}]`);
  });
  return limits;
};

const LIMIT_FIELDS = ['unit', 'window', 'max', 'model'];

const readLimit = ({ value, at, now }: Field): KeyLimit => {
  if (!isJsonObject(value)) throw wrong(at, `an object with ${LIMIT_FIELDS.join(', ')}`);
  const other = Object.keys(value).find((name) => !LIMIT_FIELDS.includes(name));
  if (other !== undefined) {
    throw gatewayError('unsupported_parameter', {
      param: `${at}.${quoted(other)}`,
      message: `Unknown parameter: '${at}.${quoted(other)}'.`,
    });
  }
  const inner = (name: string): Field => ({ value: value[name] ?? null, at: `${at}.${name}`, now });
  const unit = readChoice(inner('unit'), LIMIT_UNITS);
  return {
    unit,
    window: readChoice(inner('window'), LIMIT_WINDOWS),
    max: unit === 'cost' ? readCost(inner('max')) : readWhole(inner('max'), 1, MAX_LIMIT),
    model: orNull(inner('model'), readPattern),
  };
};

const readCost = ({ value, at }: Field): number => {
  if (typeof value !== 'number' || !(value > 0) || value > MAX_LIMIT)
    throw wrong(at, `a number above 0, at most ${MAX_LIMIT}`);
  return value;
};

const DAY_SECONDS = 24 * 60 * 60;
const MAX_DAYS = 90;

/** How long earlier secrets work after a rotation, in milliseconds: `overlap_seconds`, or a day. */
export const readOverlap = ({ overlap_seconds: seconds = DAY_SECONDS, ...others }: JsonObject): number => {
  readNothing(others);
  if (!Number.isSafeInteger(seconds) || Number(seconds) < 0 || Number(seconds) > MAX_DAYS * DAY_SECONDS) {
    throw gatewayError('invalid_value', {
      param: 'overlap_seconds',
      message: `Invalid 'overlap_seconds': expected a whole number from 0 to ${MAX_DAYS * DAY_SECONDS}, which is ${MAX_DAYS} days.`,
    });
  }
  return Number(seconds) * 1000;
};

/** Throws a 400 for the first field. */
export const readNothing = (fields: JsonObject): void => {
  const [name] = Object.keys(fields);
  if (name === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param: quoted(name),
    message: `Unknown parameter: '${quoted(name)}'.`,
  });
};
