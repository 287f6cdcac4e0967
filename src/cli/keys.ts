import { requirePrivateState } from '../codex/home/private-folders.ts';
import { openConfiguredStore } from '../compose/open-store.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import type { Config } from '../config/schema.ts';
import { MAX_KEYS, type ApiKey, projectKey, statusOf, type KeyLimit } from '../features/keys/key.ts';
import { KeyAdmin, type KeyWithSecret } from '../features/keys/key-admin.ts';
import { readOverlap } from '../features/keys/read-policy.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { jsonLines, shownTime, printable } from '../kit/text/display.ts';
import type { Store } from '../store/store.ts';
import { partOf } from '../store/part.ts';
import { keyStore } from '../features/keys/store.ts';
import { limitStore } from '../features/keys/limit-store.ts';
import type { CommandContext, Flags, RunCommand } from './read-command-line.ts';
import { PlainError, loadSettings } from './explain.ts';
import type { Json, JsonObject } from '../kit/json/json.ts';

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
  workspaces: ['workspaces', (text) => (text === 'none' ? [] : text === ANY ? ['*'] : list(text))],
  effort: ['effort', (text) => (text === ANY ? null : text)],
  addresses: ['addresses', list],
  concurrency: ['concurrency', (text) => (text === ANY ? null : numberOr(text))],
  limit: ['limits', (text) => (text === 'none' ? [] : readLimits(text))],
  storage: ['storage_mb', (text) => (text === ANY ? 0 : text === 'default' ? null : numberOr(text))],
  expires: ['expires_at', (text, now) => (text === 'never' ? null : Math.floor(readEnd(text, now) / 1000))],
};

const POLICY_FLAGS: readonly string[] = Object.keys(READERS);

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

/** Makes and changes named keys in the database of the server, which may run meanwhile. */
export const runKeys: RunCommand = async (flags, world, [name = '', wanted = '']) => {
  const action = ACTIONS[name];
  // The command line has checked it.
  if (action === undefined) throw new Error(`there is no action ${name}`);
  const foreign = [...flags.keys()].find((flag) => flag !== 'json' && !action.flags.includes(flag));
  if (foreign !== undefined) throw new PlainError(`keys ${name} does not accept --${foreign}.`);
  const config = await loadSettings(world.environment);
  if (config.state.store === 'off')
    throw new PlainError('Named keys are kept in the store of the server, and PROXY_STORE is off.');
  const progress = world.progress('opening the database');
  const store = await plainly(opened(config)).finally(() => progress.end());
  try {
    await plainly(action.run(callOf(store, { flags, world, wanted })));
    return 0;
  } finally {
    await store.close();
  }
};

/** What a database says, or what is wrong with a field, is for the operator. */
const plainly = async <Result>(doing: Promise<Result>): Promise<Result> => {
  try {
    return await doing;
  } catch (error) {
    if (error instanceof PlainError) throw error;
    const { kind } = failureOf(error);
    const message = error instanceof Error && kind !== 'server_error' ? error.message : String(error);
    throw new PlainError(message, { cause: error });
  }
};

const opened = async (config: Config): Promise<Store> => {
  await requirePrivateState(config.state.dir);
  return openConfiguredStore(config);
};

interface Call {
  readonly admin: KeyAdmin;
  readonly flags: Flags;
  readonly world: CommandContext;
  readonly now: number;
  readonly all: () => Promise<readonly ApiKey[]>;
  /** The key that the user named. */
  readonly find: () => Promise<ApiKey>;
  /** Prints the key as JSON, or says what was done. */
  readonly done: (key: ApiKey, text: string) => void;
  /** Prints a new secret: alone on standard output, so that it can be redirected. */
  readonly show: (made: KeyWithSecret, text: string) => void;
}

const callOf = (
  store: Store,
  {
    flags,
    world,
    wanted,
  }: { readonly flags: Flags; readonly world: CommandContext; readonly wanted: string },
): Call => {
  const admin = new KeyAdmin({
    store: partOf(store, keyStore),
    limits: partOf(store, limitStore),
    ambient: systemAmbient,
  });
  const now = systemAmbient.clock.now();
  const isJson = flags.has('json');
  const print = (value: object): void => world.out(jsonLines(value));
  const all = (): Promise<readonly ApiKey[]> => admin.list({ after: null, limit: MAX_KEYS });
  return {
    admin,
    flags,
    world,
    now,
    all,
    find: async () => findKey(await all(), wanted, now),
    done: (key, text) => (isJson ? print(projectKey(key, now)) : world.say(`${text}\n`)),
    show({ key, secret }, text) {
      if (isJson) print({ ...projectKey(key, now), key: secret });
      else world.out(`${secret}\n`);
      world.say(`${text}\nThe secret is shown only this once.\n`);
    },
  };
};

interface Action {
  /** Besides `--json`. */
  readonly flags: readonly string[];
  run(call: Call): Promise<void>;
}

const titleOf = ({ name, id }: ApiKey): string => `${JSON.stringify(name)} (${id})`;

/** An action without flags on one key. */
const onKey = (doIt: (admin: KeyAdmin, id: string) => Promise<ApiKey>, text: string): Action => ({
  flags: [],
  async run({ admin, find, done }) {
    const key = await doIt(admin, (await find()).id);
    done(key, `The key ${titleOf(key)} ${text}.`);
  },
});

const ACTIONS: Readonly<Record<string, Action>> = {
  create: {
    flags: POLICY_FLAGS,
    async run({ admin, flags, now, show }) {
      if (!flags.has('name')) throw new PlainError('keys create needs --name NAME.');
      const made = await admin.create(fieldsOf(flags, now));
      const { expiresAt } = made.key;
      const until = expiresAt === null ? '' : ` It works until ${shownTime(new Date(expiresAt))}.`;
      show(made, `Created the key ${titleOf(made.key)}.${until}`);
    },
  },
  list: {
    flags: [],
    async run({ flags, all, world, now }) {
      const found = await all();
      const data = found.map((key) => projectKey(key, now));
      world.out(
        flags.has('json') ? jsonLines({ object: 'list', data, has_more: false }) : describeKeys(found, now),
      );
    },
  },
  show: {
    flags: [],
    async run({ flags, find, world, now }) {
      const key = await find();
      world.out(flags.has('json') ? jsonLines(projectKey(key, now)) : describeKey(key, now));
    },
  },
  change: {
    flags: POLICY_FLAGS,
    async run({ admin, flags, now, find, done }) {
      if (!POLICY_FLAGS.some((flag) => flags.has(flag)))
        throw new PlainError('keys change needs a flag for what to change, such as --note or --limit.');
      const key = await admin.change((await find()).id, fieldsOf(flags, now));
      done(key, `The key ${titleOf(key)} was changed.`);
    },
  },
  rotate: {
    flags: ['overlap'],
    async run({ admin, flags, now, find, show }) {
      const overlapMs = readOverlap(overlapOf(flags.get('overlap')));
      const made = await admin.rotate((await find()).id, overlapMs);
      const until =
        overlapMs === 0 ? 'do not work any more' : `work until ${shownTime(new Date(now + overlapMs))}`;
      show(made, `The key ${titleOf(made.key)} has a new secret. Earlier ones ${until}.`);
    },
  },
  pause: onKey(async (admin, id) => (await admin.pause(id)).key, 'is paused'),
  resume: onKey((admin, id) => admin.resume(id), 'can be used again'),
  revoke: onKey(async (admin, id) => (await admin.revoke(id)).key, 'was revoked'),
  reset: onKey((admin, id) => admin.reset(id), 'has used nothing of its limits'),
};

const time = (ms: number | null, none: string): string => (ms === null ? none : shownTime(new Date(ms)));

const limitText = ({ unit, window, max, model }: KeyLimit): string =>
  `${unit}/${window}=${max}${model === null ? '' : `,model=${model}`}`;

const storageText = (mb: number | null): string => {
  if (mb === null) return 'as the server allows';
  return mb === 0 ? 'any' : `up to ${mb} MB`;
};

/** A table for people, one line for each key. */
const describeKeys = (keys: readonly ApiKey[], now: number): string => {
  if (keys.length === 0) return 'There are no named keys.\n';
  const rows = [
    ['name', 'status', 'secret', 'scopes', 'expires', 'last used', 'id'],
    ...keys.map((key) => [
      key.name,
      statusOf(key, now),
      key.hint,
      key.scopes.join(','),
      time(key.expiresAt, 'never'),
      time(key.lastUsedAt, 'never'),
      key.id,
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
};

/** Everything about a key for people, one line for each field. */
const describeKey = (key: ApiKey, now: number): string => {
  const or = (entries: readonly string[], none: string): string =>
    entries.length === 0 ? none : entries.join(', ');
  const rows: readonly (readonly [string, string])[] = [
    ['id', key.id],
    ['name', key.name],
    ['note', key.note === '' ? '' : printable(JSON.stringify(key.note))],
    ['status', statusOf(key, now)],
    ['secret', key.hint],
    ['scopes', or(key.scopes, 'none')],
    ['models', or(key.models, 'all')],
    ['workspaces', or(key.workspaces, 'none')],
    ['effort', key.effort === null ? 'any' : `up to ${key.effort}`],
    ['addresses', or(key.addresses, 'any')],
    ['concurrency', key.concurrency === null ? 'any' : String(key.concurrency)],
    ['limits', or(key.limits.map(limitText), 'none')],
    ['storage', storageText(key.storageMb)],
    ['created', time(key.createdAt, '')],
    ['expires', time(key.expiresAt, 'never')],
    ['last used', time(key.lastUsedAt, 'never')],
  ];
  return rows
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name.padEnd(11)} ${text}\n`)
    .join('');
};

/**
 * The key with this id or name. Throws if there is none, or if several have the name: of those, a key that was revoked does
 * not count if another was not.
 */
const findKey = (keys: readonly ApiKey[], wanted: string, now: number): ApiKey => {
  const byId = keys.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const named = keys.filter(({ name }) => name === wanted);
  const usable = named.filter((key) => statusOf(key, now) !== 'revoked');
  const candidates = usable.length > 0 ? usable : named;
  const [only] = candidates;
  if (only === undefined)
    throw new PlainError(`There is no key with the id or name ${JSON.stringify(wanted)}. See keys list.`);
  if (candidates.length > 1) {
    const ids = candidates.map(({ id }) => id).join(', ');
    throw new PlainError(`Several keys have the name ${JSON.stringify(wanted)}: use one of the ids ${ids}.`);
  }
  return only;
};
