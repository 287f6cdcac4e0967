import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { crc32 } from 'node:zlib';

import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';

/** The column that a text belongs to. A text that was moved to another row cannot be opened there. */
export interface Place {
  /** Table and column. */
  readonly column: string;
  /** The key of the row. Error messages show it. */
  readonly row: string;
  readonly owner?: string;
}

/**
 * Turns texts into what a column contains and back:
 *
 * - `j`, a checksum of 8 digits, the text: plain.
 * - `s`, the same checksum, the text as a JSON string: a plain text that PostgreSQL could not store as it is.
 * - `e`, the id of a key in 8 characters, base64 of nonce, tag and ciphertext: encrypted with AES-256-GCM.
 */
export interface Seal {
  close(place: Place, text: string): string;
  /** Throws `store_corrupt` if the column contains anything else. */
  open(place: Place, stored: unknown): string;
  /** Whether the key of a sealed text is known. */
  canOpen(stored: string): boolean;
  /** Whether `close` would use the same key. */
  isCurrent(stored: string): boolean;
  /** A digest by which equal texts are found without showing them: keyed if there is a key. */
  digest(text: string): string;
  /** The digests that earlier keys made of the text, too. */
  digests(text: string): readonly string[];
}

interface Key {
  readonly id: string;
  readonly forTexts: KeyObject;
  readonly forDigests: KeyObject;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 6;
/** `e` and the id of a key, or `j` and a checksum: both are nine characters. */
const HEAD_CHARS = 9;

/** `keys`: 32 bytes each, as hexadecimal digits or base64. */
export const createSeal = (keys: readonly string[]): Seal => {
  const ring = keys.map(readKey);
  const [current = null] = ring;
  const byId = new Map(ring.map((key) => [key.id, key]));
  const plainDigest = (text: string): string => createHash('sha256').update(text).digest('base64url');
  return {
    close: (place, text) => (current === null ? closePlain(place, text) : encrypt(current, place, text)),
    open(place, stored) {
      if (typeof stored !== 'string') throw corrupt(place, 'it has no text');
      return stored.startsWith('e') ? decrypt(byId, place, stored) : openPlain(place, stored);
    },
    canOpen: (stored) => !stored.startsWith('e') || byId.has(stored.slice(1, HEAD_CHARS)),
    isCurrent: (stored) =>
      (stored.startsWith('e') ? stored.slice(1, HEAD_CHARS) : null) === (current?.id ?? null),
    digest: (text) => (current === null ? plainDigest(text) : keyedDigest(current, text)),
    digests: (text) => [...ring.map((key) => keyedDigest(key, text)), plainDigest(text)],
  };
};

/** The ids of keys, as they are written into sealed texts. */
export const keyIdsOf = (keys: readonly string[]): readonly string[] => keys.map((key) => readKey(key).id);

const readKey = (written: string): Key => {
  const bytes = Buffer.from(written, /^[0-9a-fA-F]{64}$/.test(written) ? 'hex' : 'base64');
  if (bytes.length !== 32) throw new Error('a key of the store must have 32 bytes');
  const derived = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', bytes, '', `codex-app-server-proxy store ${purpose}`, length));
  return {
    id: derived('key id', ID_BYTES).toString('base64url'),
    forTexts: createSecretKey(derived('texts', 32)),
    forDigests: createSecretKey(derived('digests', 32)),
  };
};

const keyedDigest = ({ forDigests }: Key, text: string): string =>
  createHmac('sha256', forDigests).update(text).digest('base64url');

/** None of these names contains a line break. */
const nameOf = ({ column, row, owner = '' }: Place): string => `${column}\n${row}\n${owner}`;

const corrupt = ({ column, row }: Place, why: string): GatewayError =>
  gatewayError('store_corrupt', { message: `The stored row ${row} (${column}) cannot be read: ${why}.` });

const checksum = (place: Place, text: string): string =>
  crc32(text, crc32(nameOf(place)))
    .toString(16)
    .padStart(8, '0');

/** PostgreSQL has no NUL in texts, and a lone surrogate has no encoding in UTF-8. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

const closePlain = (place: Place, text: string): string => {
  const [form, written] = isStorable(text) ? ['j', text] : ['s', JSON.stringify(text)];
  return `${form}${checksum(place, written)}${written}`;
};

const openPlain = (place: Place, stored: string): string => {
  const form = stored.charAt(0);
  const written = stored.slice(HEAD_CHARS);
  if ((form !== 'j' && form !== 's') || stored.slice(1, HEAD_CHARS) !== checksum(place, written)) {
    throw corrupt(place, 'it is damaged');
  }
  return form === 'j' ? written : (JSON.parse(written) as string);
};

/** `s` marks a text that is a JSON string, as in the plain form. */
const encrypt = (key: Key, place: Place, text: string): string => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.forTexts, nonce);
  cipher.setAAD(Buffer.from(nameOf(place)));
  const written = text.isWellFormed() ? `j${text}` : `s${JSON.stringify(text)}`;
  const content = Buffer.concat([cipher.update(written, 'utf8'), cipher.final()]);
  return `e${key.id}${Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64')}`;
};

const decrypt = (keys: ReadonlyMap<string, Key>, place: Place, stored: string): string => {
  const key = keys.get(stored.slice(1, HEAD_CHARS));
  if (key === undefined) throw corrupt(place, 'its key is not in PROXY_STORE_KEY');
  const bytes = Buffer.from(stored.slice(HEAD_CHARS), 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw corrupt(place, 'it is damaged');
  const cipher = createDecipheriv('aes-256-gcm', key.forTexts, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(Buffer.from(nameOf(place)));
  cipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const content = cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    cipher.final();
  } catch {
    throw corrupt(place, 'it was changed, or moved from another row');
  }
  const written = content.toString('utf8');
  return written.startsWith('j') ? written.slice(1) : (JSON.parse(written.slice(1)) as string);
};
