import { statusOf, type ApiKey, type KeyLimit } from '../../features/keys/key.ts';
import { printable, shownTime } from '../../kit/text/display.ts';

const time = (ms: number | null, none: string): string => (ms === null ? none : shownTime(new Date(ms)));

const limitText = ({ unit, window, max, model }: KeyLimit): string =>
  `${unit}/${window}=${max}${model === null ? '' : `,model=${model}`}`;

const storageText = (mb: number | null): string => {
  if (mb === null) return 'as the server allows';
  return mb === 0 ? 'any' : `up to ${mb} MB`;
};

/** A table for people, one line for each key. */
export const describeKeys = (keys: readonly ApiKey[], now: number): string => {
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
export const describeKey = (key: ApiKey, now: number): string => {
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
