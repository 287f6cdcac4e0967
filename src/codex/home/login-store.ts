import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { Clock } from '../../kit/ambient.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import { parseJsonObject } from '../../kit/json/json.ts';
import { readIfPresent, stampOf, writeAtomically } from './files.ts';
import {
  readLoginFile,
  readWholeLogin,
  replaceLogin,
  tokensIn,
  tokensInAnswer,
  withTokens,
  type LoginFile,
  type LoginTokens,
} from './login-file.ts';

export interface LoginStoreOptions {
  /** The persistent `auth.json`. */
  readonly file: string;
  readonly clock: Clock;
  /** Called if renewed tokens could not be saved: they stay in memory and are lost with this process. */
  readonly onUnsaved?: (error: unknown) => void;
}

/** The login that app-servers get. */
export interface KeptLogin {
  /** The persistent `auth.json`, or an access token in the environment of this process. */
  readonly origin: 'file' | 'environment';
  /** Variables that an app-server with this login needs. */
  readonly childEnvironment: Readonly<Record<string, string>>;
  /** Changes with the login. */
  stamp(): Promise<string>;
  find(): Promise<LoginFile>;
  /** Null if there is no readable login. */
  read(): Promise<string | null>;
  /** Changes with the credentials, except when we renew them: the app-servers have the new ones then. */
  revisionOf(text: string): string;
  /** Prepares the home of an app-server and keeps it up to date until `release`. */
  copyInto(directory: string): Promise<void>;
  /** Call before removing a home. */
  release(directory: string): Promise<void>;
  /** Saves tokens that app-servers have renewed without the relay. */
  collect(): Promise<void>;
  /** The same for a home left by a killed process. */
  rescue(directory: string): Promise<void>;
  /** Saves the response to a token refresh. Resolves when no app-server will read the old tokens any more. */
  renewed(refreshToken: string | null, answer: string): Promise<void>;
  /** The response to a refresh with a token that is no longer current; null if there is none. */
  successorOf(refreshToken: string): Promise<string | null>;
  /** Whether tokens have been renewed since then, as far as known. */
  wasRenewedSince(timeMs: number): Promise<boolean>;
}

/** The copy of the login in the home of one app-server. */
interface Copy {
  /** The refresh token that we last wrote or read there. */
  refreshToken: string | null;
  /** Stamp of the file when we last wrote or read it. */
  stamp: string;
}

/** File in each home with the hash of the refresh token that its copy was made from. Read after a crash. */
const ORIGIN_FILE = 'login-origin';
const MAX_REMEMBERED = 64;

/**
 * The login of this server: one persistent file, and a copy in the home of each app-server. codex overwrites
 * its `auth.json` in place, so a file shared by several app-servers is empty or half written for a moment,
 * and an app-server that reads it then is signed out. With copies, each file has one writer besides us, and
 * we replace files atomically.
 *
 * A refresh token can be used once, so a renewal in one home invalidates all other copies. New tokens come
 * from the relay (`renewed`) or from the home where codex wrote them (`collect`), and are saved to the
 * persistent file and then to the other homes. They replace only the login that they were made from: a
 * concurrent sign-in or sign-out wins.
 */
export class LoginStore implements KeptLogin {
  readonly origin = 'file';
  readonly childEnvironment = {};
  readonly file: string;
  readonly #clock: Clock;
  readonly #onUnsaved: (error: unknown) => void;
  readonly #copies = new Map<string, Copy>();
  /** The account of a refresh token, by the token's hash. */
  readonly #accounts = new Map<string, string | null>();
  /** The first revision of a login that we have renewed since, by its current revision. */
  readonly #firstRevisions = new Map<string, string>();
  #unsaved: { readonly replaces: string | null; readonly text: string } | null = null;
  #renewedAt = -Infinity;
  #queue: Promise<unknown> = Promise.resolve();

  constructor({ file, clock, onUnsaved = () => {} }: LoginStoreOptions) {
    this.file = file;
    this.#clock = clock;
    this.#onUnsaved = onUnsaved;
  }

  stamp(): Promise<string> {
    return stampOf(this.file);
  }

  async find(): Promise<LoginFile> {
    const found = await readLoginFile(this.file);
    return found.kind === 'text' ? { kind: 'text', text: this.#latest(found.text) } : found;
  }

  async read(): Promise<string | null> {
    const text = await readWholeLogin(this.file);
    return text === null ? null : this.#latest(text);
  }

  revisionOf(text: string): string {
    const revision = revisionOf(text);
    return this.#firstRevisions.get(revision) ?? revision;
  }

  copyInto(directory: string): Promise<void> {
    return this.#runInOrder(async () => {
      const text = await this.read();
      if (text === null) return;
      const { refreshToken = null } = this.#remember(text) ?? {};
      await writeFile(path.join(directory, 'auth.json'), text, { mode: 0o600 });
      if (refreshToken !== null) await writeOrigin(directory, refreshToken);
      const copy = { refreshToken, stamp: await stampIn(directory) };
      this.#copies.set(directory, copy);
    });
  }

  release(directory: string): Promise<void> {
    return this.#runInOrder(async () => {
      await this.#collectFrom(directory);
      this.#copies.delete(directory);
    });
  }

  collect(): Promise<void> {
    return this.#runInOrder(async () => {
      for (const directory of this.#copies.keys()) await this.#collectFrom(directory);
    });
  }

  rescue(directory: string): Promise<void> {
    return this.#runInOrder(async () => {
      const origin = await readIfPresent(path.join(directory, ORIGIN_FILE));
      const text = origin === null ? null : await readWholeLogin(path.join(directory, 'auth.json'));
      const tokens = text === null ? null : tokensIn(text);
      const replaced = tokensIn((await this.read()) ?? '')?.refreshToken ?? null;
      if (tokens === null || replaced === null || hashOf(replaced) !== origin) return;
      if (tokens.refreshToken !== replaced) await this.#adopt(replaced, tokens);
    });
  }

  renewed(refreshToken: string | null, answer: string): Promise<void> {
    return this.#runInOrder(async () => {
      const tokens = tokensInAnswer(answer);
      if (tokens === null) return;
      this.#renewedAt = this.#clock.now();
      // The app-server must get its tokens even if saving fails: there is only one response.
      await this.#adopt(refreshToken, tokens).catch(this.#onUnsaved);
    });
  }

  /** Another process may have renewed this login, or the same account has signed in again. */
  async successorOf(refreshToken: string): Promise<string | null> {
    const tokens = tokensIn((await this.read()) ?? '');
    if (tokens === null || tokens.refreshToken === null || tokens.refreshToken === refreshToken) return null;
    if (this.#accounts.get(hashOf(refreshToken)) !== tokens.accountId) return null;
    this.#renewedAt = this.#clock.now();
    return JSON.stringify(tokens.fields);
  }

  async wasRenewedSince(timeMs: number): Promise<boolean> {
    await this.collect();
    return this.#renewedAt >= timeMs;
  }

  /** Saves new tokens of the login with this refresh token. Does nothing if the login has changed. */
  async #adopt(replaced: string | null, tokens: LoginTokens): Promise<void> {
    const text = await this.read();
    if (text === null || tokensIn(text)?.refreshToken !== replaced) return;
    const renewed = withTokens(text, tokens, new Date(this.#clock.now()));
    this.#remember(renewed);
    this.#firstRevisions.set(revisionOf(renewed), this.revisionOf(text));
    forgetOldest(this.#firstRevisions, MAX_REMEMBERED);
    this.#renewedAt = this.#clock.now();
    await this.#save(renewed, replaced);
    for (const [directory, copy] of this.#copies) {
      if (copy.refreshToken === replaced) await this.#bringUpToDate(directory, copy, renewed);
    }
  }

  async #save(text: string, replaced: string | null): Promise<void> {
    try {
      await replaceLogin(this.file, text, async () => {
        const now = await readLoginFile(this.file);
        return now.kind === 'text' && tokensIn(this.#latest(now.text))?.refreshToken === replaced;
      });
      this.#unsaved = null;
    } catch (error) {
      const onDisk = this.#unsaved?.replaces ?? replaced;
      this.#unsaved = { replaces: onDisk, text };
      this.#onUnsaved(error);
    }
  }

  async #bringUpToDate(directory: string, copy: Copy, text: string): Promise<void> {
    try {
      await writeAtomically(path.join(directory, 'auth.json'), text);
      copy.refreshToken = tokensIn(text)?.refreshToken ?? null;
      if (copy.refreshToken !== null) await writeOrigin(directory, copy.refreshToken);
      copy.stamp = await stampIn(directory);
    } catch {
      // The home is being removed, or the disk is full: the app-server gets the new tokens on its next
      // refresh.
    }
  }

  async #collectFrom(directory: string): Promise<void> {
    const copy = this.#copies.get(directory);
    const stamp = await stampIn(directory);
    if (copy === undefined || copy.stamp === stamp) return;
    const text = await readWholeLogin(path.join(directory, 'auth.json'));
    const tokens = text === null ? null : tokensIn(text);
    if (tokens === null) return;
    const replaced = copy.refreshToken;
    copy.stamp = stamp;
    copy.refreshToken = tokens.refreshToken;
    if (tokens.refreshToken === replaced) return;
    await this.#adopt(replaced, tokens);
    if (tokens.refreshToken !== null) await writeOrigin(directory, tokens.refreshToken);
  }

  /** The text on disk, or newer tokens that could not be written. */
  #latest(text: string): string {
    const unsaved = this.#unsaved;
    return unsaved !== null && tokensIn(text)?.refreshToken === unsaved.replaces ? unsaved.text : text;
  }

  #remember(text: string): LoginTokens | null {
    const tokens = tokensIn(text);
    if (tokens !== null && tokens.refreshToken !== null) {
      this.#accounts.set(hashOf(tokens.refreshToken), tokens.accountId);
      forgetOldest(this.#accounts, MAX_REMEMBERED);
    }
    return tokens;
  }

  /** Runs tasks one after the other, so that none changes what another has read. */
  #runInOrder(act: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(act);
    this.#queue = done.catch(() => {});
    return done;
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Changes with the credentials, but not with the time of the last refresh. */
export const revisionOf = (text: string): string => {
  const auth = parseJsonObject(text);
  const names = ['tokens', 'OPENAI_API_KEY', 'personal_access_token', 'agent_identity'];
  return hashOf(JSON.stringify(names.map((name) => auth?.[name])));
};

const writeOrigin = (directory: string, refreshToken: string): Promise<void> =>
  writeFile(path.join(directory, ORIGIN_FILE), hashOf(refreshToken), { mode: 0o600 });

const stampIn = (directory: string): Promise<string> => stampOf(path.join(directory, 'auth.json'));
