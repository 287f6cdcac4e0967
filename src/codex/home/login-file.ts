import { chown, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { isMissing, writeAtomically } from './files.ts';

/** A login has a few KB. */
const MAX_LOGIN_BYTES = 1024 * 1024;

/** What was found at the path of an `auth.json`. */
export type LoginFile =
  | { readonly kind: 'missing' }
  | { readonly kind: 'text'; readonly text: string }
  /** `why` is a sentence for the operator. */
  | { readonly kind: 'refused'; readonly why: string };

/** The login is missing or unusable. The message says what to do. */
export class UnusableLogin extends Error {}

/** Reads an `auth.json`, following links. Refuses what cannot be a login. */
export const readLoginFile = async (file: string): Promise<LoginFile> => {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > MAX_LOGIN_BYTES) {
      const what = found.isFile() ? `has ${megabytes(found.size)} MB, more than 1 MB` : 'is not a file';
      return { kind: 'refused', why: `${file} ${what}, so it is not a login and is not read.` };
    }
    return { kind: 'text', text: await readFile(file, 'utf8') };
  } catch (error) {
    if (isMissing(error)) return { kind: 'missing' };
    throw error;
  }
};

const megabytes = (bytes: number): string => (bytes / MAX_LOGIN_BYTES).toFixed(1);

const READS = 5;
const READ_AGAIN_MS = 20;

/** Null if there is no login. Waits briefly for a file that another program is writing. */
export const readWholeLogin = async (file: string): Promise<string | null> => {
  for (let read = 1; ; read += 1) {
    const found = await readLoginFile(file);
    if (found.kind !== 'text') return null;
    if (parseJsonObject(found.text) !== null || read >= READS) return found.text;
    await sleep(READ_AGAIN_MS);
  }
};

/** Follows a link, such as one into a dotfiles folder, so that it stays a link. */
const realFile = (file: string): Promise<string> => realpath(file).catch(() => file);

/**
 * Replaces an `auth.json` atomically, if `isStillWanted` agrees at the last moment. The file keeps its owner.
 * If it cannot be replaced, such as a file mounted into a container, it is overwritten.
 */
export const replaceLogin = async (
  file: string,
  text: string,
  isStillWanted: () => Promise<boolean> = async () => true,
): Promise<void> => {
  const target = await realFile(file);
  try {
    await writeAtomically(target, text, async (temporary) => {
      await keepOwner(target, temporary);
      return isStillWanted();
    });
  } catch (error) {
    if (!cannotReplace(error)) throw error;
    if (await isStillWanted()) await writeFile(target, text, { mode: 0o600 });
  }
};

const keepOwner = async (from: string, to: string): Promise<void> => {
  const [old, now] = await Promise.all([stat(from).catch(() => null), stat(to)]);
  if (old !== null && (old.uid !== now.uid || old.gid !== now.gid)) await chown(to, old.uid, old.gid);
};

/** The folder is not writable, or the file is a mount point. */
const cannotReplace = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['EACCES', 'EPERM', 'EBUSY', 'EROFS', 'EXDEV'].includes(String(error.code));

/** The tokens in an `auth.json`, or in the response to a token refresh. */
export interface LoginTokens {
  readonly refreshToken: string | null;
  readonly accountId: string | null;
  /** With the field names of the file. */
  readonly fields: Readonly<Record<string, string>>;
}

const TOKEN_FIELDS = ['id_token', 'access_token', 'refresh_token'];

export const tokensIn = (text: string): LoginTokens | null => {
  const tokens = parseJsonObject(text)?.['tokens'];
  return isJsonObject(tokens) ? readTokens(tokens) : null;
};

/** Null if codex would not accept the response as new tokens. */
export const tokensInAnswer = (text: string): LoginTokens | null => {
  const answer = parseJsonObject(text);
  return answer === null || typeof answer['access_token'] !== 'string' ? null : readTokens(answer);
};

const readTokens = (tokens: JsonObject): LoginTokens => {
  const fields = Object.fromEntries(
    TOKEN_FIELDS.flatMap((name) => {
      const value = tokens[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );
  const accountId = tokens['account_id'];
  return {
    refreshToken: fields['refresh_token'] ?? null,
    accountId: typeof accountId === 'string' ? accountId : null,
    fields,
  };
};

/** An `auth.json` with other tokens of the same login; all other fields stay. */
export const withTokens = (text: string, { fields }: LoginTokens, renewedAt: Date): string => {
  const auth = parseJsonObject(text) ?? {};
  const tokens = isJsonObject(auth['tokens']) ? auth['tokens'] : {};
  return JSON.stringify(
    { ...auth, tokens: { ...tokens, ...fields }, last_refresh: renewedAt.toISOString() },
    null,
    2,
  );
};
