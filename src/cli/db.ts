import path from 'node:path';

import { jsonLines } from '../kit/text/display.ts';
import { storeFile, STORE_SCHEMA } from '../compose/open-store.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { openAdmin, type StoreAdmin } from '../store/admin/open-admin.ts';
import type { StoreStatus, Encryption, StoreContent } from '../store/admin/store-status.ts';
import type { CommandContext, RunCommand } from './read-command-line.ts';
import { PlainError, loadSettings } from './explain.ts';

/** Looks after the database of the server, which may run meanwhile. */
export const db: RunCommand = async (flags, world, [action = '', argument = '']) => {
  const { state } = await loadSettings(world.environment);
  const file = storeFile(state);
  const { databaseUrl, keys } = state;
  const admin = await plainly(
    openAdmin({ databaseUrl, file, keys, clock: systemAmbient.clock, schema: STORE_SCHEMA }),
  );
  if (admin === null) throw new PlainError(`Nothing is stored yet: there is no ${file}.`);
  try {
    await plainly(actionNamed(action)(admin, world, { argument, isJson: flags.has('json') }));
    return 0;
  } finally {
    await admin.close();
  }
};

/** What a database or a file says is for the operator. */
const plainly = async <Result>(doing: Promise<Result>): Promise<Result> => {
  try {
    return await doing;
  } catch (error) {
    throw new PlainError(error instanceof Error ? error.message : String(error), { cause: error });
  }
};

interface ActionInput {
  readonly argument: string;
  readonly isJson: boolean;
}

type Action = (admin: StoreAdmin, world: CommandContext, given: ActionInput) => Promise<void>;

const ACTIONS: Readonly<Record<string, Action>> = {
  async status(admin, world, { isJson }) {
    const status: StoreStatus = await admin.status();
    world.out(isJson ? jsonLines(status) : describeStatus(status));
  },
  async backup(admin, world, { argument }) {
    // npm scripts run in the project's folder; npm passes the one of the user in a variable.
    const file = path.resolve(world.environment['INIT_CWD'] ?? process.cwd(), argument);
    const progress = world.progress('copying the database');
    const command = await admin
      .backup(file, (bytes, total) =>
        progress.show(`copying the database: ${megabytes(bytes)} of ${megabytes(total)}`),
      )
      .catch((error: unknown) => {
        throw unwritable(error, file);
      })
      .finally(() => progress.end());
    if (command === null) world.say(`Copied into ${file}.\n`);
    else world.out(`${command}\n`);
  },
  async 'accept-key'(admin, world) {
    await admin.acceptKey();
    world.say(
      'The server can start with the current PROXY_STORE_KEY. `db status` counts the rows of other keys: they can be deleted, but not read.\n',
    );
  },
  async vacuum(admin, world) {
    const before = await admin.status();
    const progress = world.progress(`compacting ${megabytes(before.bytes)}`);
    await admin.vacuum().finally(() => progress.end());
    const after = await admin.status();
    world.say(`${megabytes(before.bytes)} before, ${megabytes(after.bytes)} now.\n`);
  },
};

const unwritable = (error: unknown, file: string): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST')
    return new PlainError(`There is already a file ${file}: name another one, or remove it.`);
  if (code === 'ENOENT') return new PlainError(`There is no folder ${path.dirname(file)}.`);
  return error;
};

/** The command line has checked it. */
const actionNamed = (name: string): Action => {
  const action = ACTIONS[name];
  if (action === undefined) throw new Error(`there is no action ${name}`);
  return action;
};

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

/** The status of a database for a person. */
export const describeStatus = (status: StoreStatus): string => {
  const { kind, place, bytes, content } = status;
  const rows: readonly (readonly [string, string])[] = [
    ['database', `${kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, ${place}`],
    ['schema', schemaText(status)],
    ['size', `${(bytes / 1_000_000).toFixed(1)} MB`],
    ...(content === null ? [] : contentRows(content)),
  ];
  return rows.map(([name, text]) => `${name.padEnd(11)} ${text}\n`).join('');
};

const schemaText = ({ schemaVersion, knownVersion }: StoreStatus): string => {
  if (schemaVersion === knownVersion) return `version ${schemaVersion}`;
  return schemaVersion > knownVersion
    ? `version ${schemaVersion}, which is newer than this program (${knownVersion})`
    : `version ${schemaVersion}; the next start of the server brings it to ${knownVersion}`;
};

const contentRows = ({
  lines,
  expired,
  oldest,
  encryption,
}: StoreContent): readonly (readonly [string, string])[] => [
  ...lines,
  ['expired', `${expired} rows wait for deletion`],
  ['oldest', oldest === null ? 'none' : new Date(oldest).toISOString()],
  ['encryption', encryption.length === 0 ? 'nothing is stored' : encryption.map(encryptionText).join('; ')],
];

const FORMS: Readonly<Record<Encryption['form'], string>> = {
  plain: 'are plain text',
  'current key': 'have the current key',
  'earlier key': 'have an earlier key',
  'unknown key': 'have a key that is not in PROXY_STORE_KEY',
};

const encryptionText = ({ form, keyId, rows }: Encryption): string =>
  `${rows} rows ${FORMS[form]}${keyId === null ? '' : ` (${keyId})`}`;
