import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A secret of this installation. */
interface OwnSecret {
  readonly secret: string;
  readonly file: string;
  /** Created by this start. */
  readonly isNew: boolean;
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** The secret in a file; null if there is no file. Throws if it contains something else. */
const readSecret = async (file: string): Promise<string | null> => {
  let text: string;
  try {
    // Reading a FIFO would wait for a writer.
    if (!(await stat(file)).isFile()) throw new Error(`${file} is not a regular file.`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
  const secret = text.trim();
  // An empty secret must not be used, and a new one would not match what the old one was used for.
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new Error(`${file} contains no key. Delete it: the next start creates a new one.`);
  await chmod(file, 0o600);
  return secret;
};

/**
 * Reads a secret of this installation, or creates one of 32 random bytes after the prefix. It is written under a temporary name and then linked: of two
 * processes that start at once one wins, and neither sees half a secret.
 */
export const loadOrCreateSecret = async (file: string, prefix = ''): Promise<OwnSecret> => {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const existing = await readSecret(file);
  if (existing !== null) return { secret: existing, file, isNew: false };

  const secret = `${prefix}${randomBytes(32).toString('base64url')}`;
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
    return { secret, file, isNew: true };
  } catch (error) {
    const winner = isCode(error, 'EEXIST') ? await readSecret(file) : null;
    if (winner === null) throw error;
    return { secret: winner, file, isNew: false };
  } finally {
    await rm(draft, { force: true });
  }
};

const KEY_FILE = 'api-key';

/** The key of an installation without a configured one. */
export interface OwnKey {
  readonly key: string;
  readonly file: string;
  /** Created by this start: it is shown only this once. */
  readonly isNew: boolean;
}

/** The key of this installation; null if the server has not created it yet. */
export const readApiKey = async (stateDir: string): Promise<Omit<OwnKey, 'isNew'> | null> => {
  const file = path.join(stateDir, KEY_FILE);
  const key = await readSecret(file);
  return key === null ? null : { key, file };
};

/** Reads the API key of this installation, or creates it. A new key would lock out the clients with the old one. */
export const loadOrCreateApiKey = async (stateDir: string): Promise<OwnKey> => {
  const { secret: key, ...rest } = await loadOrCreateSecret(path.join(stateDir, KEY_FILE), 'sk-proxy-');
  return { key, ...rest };
};
