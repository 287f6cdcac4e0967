import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const readKey = async (file: string): Promise<string | null> => {
  let text: string;
  try {
    // Reading a FIFO would wait for a writer.
    if (!(await stat(file)).isFile()) throw new Error(`${file} is not a regular file.`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
  const key = text.trim();
  // An empty key would lock out every client, and a new one the clients with the old one.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Error(`${file} contains no key. Delete it: the next start creates a new one.`);
  await chmod(file, 0o600);
  return key;
};

/** The key of an installation without a configured one. */
export interface OwnKey {
  readonly key: string;
  readonly file: string;
  /** Created by this start: it is shown only this once. */
  readonly isNew: boolean;
}

/**
 * Reads the key of this installation, or creates it. It is written under a temporary name and then linked: of two
 * processes that start at once one wins, and neither sees half a key.
 */
export const loadOrCreateApiKey = async (stateDir: string): Promise<OwnKey> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const file = join(stateDir, 'api-key');
  const existing = await readKey(file);
  if (existing !== null) return { key: existing, file, isNew: false };

  const key = `sk-proxy-${randomBytes(32).toString('base64url')}`;
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${key}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
    return { key, file, isNew: true };
  } catch (error) {
    const winner = isCode(error, 'EEXIST') ? await readKey(file) : null;
    if (winner === null) throw error;
    return { key: winner, file, isNew: false };
  } finally {
    await rm(draft, { force: true });
  }
};
