import type { Encryption, StoreContent, StoreStatus } from '../store/admin/store-status.ts';

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
  rows,
  expired,
  oldest,
  encryption,
}: StoreContent): readonly (readonly [string, string])[] => [
  ['responses', String(rows.responses)],
  ['turns', `${rows.turns} in ${rows.segments} conversations and chains`],
  ['chats', String(rows.chat_completions)],
  ['events', `${rows.run_events} batches`],
  ['memory', `${rows.memory} values`],
  ['keys', `${rows.api_keys} named keys`],
  ['requests', `${rows.requests} in the request log`],
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
