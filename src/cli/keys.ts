import { requirePrivateState } from '../codex/home/private-folders.ts';
import { openConfiguredStore } from '../compose/state.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import type { Config } from '../config/schema.ts';
import { MAX_KEYS, type ApiKey, projectKey } from '../features/keys/key.ts';
import { KeyAdmin, type KeyWithSecret } from '../features/keys/key-admin.ts';
import { readOverlap } from '../features/keys/read-policy.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { jsonLines, shownTime } from '../kit/text/display.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext, Flags, Run } from './command.ts';
import { PlainError } from './explain.ts';
import { describeKey, describeKeys } from './keys/describe-keys.ts';
import { findKey } from './keys/find-key.ts';
import { fieldsOf, overlapOf, POLICY_FLAGS } from './keys/read-flags.ts';
import { loadSettings } from './load-settings.ts';
import { partOf } from '../store/part.ts';
import { keyStore } from '../features/keys/store.ts';
import { limitStore } from '../features/keys/limit-store.ts';

/** Makes and changes named keys in the database of the server, which may run meanwhile. */
export const keys: Run = async (flags, world, [name = '', wanted = '']) => {
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
