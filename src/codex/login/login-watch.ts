import { stat } from 'node:fs/promises';

import { parseJsonObject } from '../../kit/json/json.ts';
import type { Login } from '../home/backend.ts';
import { detectLogin } from './login.ts';
import type { CodexHomes } from '../home/prepare-home.ts';
import { readLogin } from './read-login.ts';

/** The login that is there now. */
export interface PresentLogin {
  readonly kind: Login;
  /** The same as long as it is the same account. */
  readonly account: string;
  /** Another one when its tokens are others: a worker that has the old ones may find them used up. */
  readonly revision: string;
}

/**
 * Looks for the login again and again: people sign in and out while the server runs. While the file
 * stays as it is nothing is read, let alone started. `onRefused` gets a sentence about a file that cannot be a login.
 */
export const createLoginWatch = (
  homes: CodexHomes,
  onRefused: (why: string) => void = () => {},
): (() => Promise<PresentLogin | null>) => {
  let seen: { readonly stamp: string; readonly login: PresentLogin | null } | null = null;
  return async () => {
    await homes.login.collect();
    const stamp = await stampOf(homes.login.file);
    if (seen?.stamp === stamp) return seen.login;
    const found = await homes.login.find();
    if (found.kind === 'refused') onRefused(found.why);
    const text = found.kind === 'text' ? found.text : null;
    // Someone is writing it right now: what was there before holds until it can be read.
    if (text !== null && seen !== null && !isWhole(text)) return seen.login;
    const login = text === null ? null : await present(text, homes);
    seen = { stamp, login };
    return login;
  };
};

const present = async (text: string, homes: CodexHomes): Promise<PresentLogin | null> => {
  const kind = await detectLogin(homes);
  if (kind === null) return null;
  const revision = homes.login.revisionOf(text);
  const facts = readLogin(text);
  // Of an API key nothing can be told but that it is another one.
  return { kind, account: facts?.accountId ?? revision, revision };
};

/** Links are followed: the file may be one. */
const stampOf = async (file: string): Promise<string> => {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'none';
  }
};

const isWhole = (text: string): boolean => parseJsonObject(text) !== null;
