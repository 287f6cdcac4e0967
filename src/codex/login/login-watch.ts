import { parseJsonObject } from '../../kit/json/json.ts';
import type { AccessTokenKind } from '../home/access-token.ts';
import type { Login } from '../home/backend.ts';
import type { KeptLogin } from '../home/login-store.ts';
import { detectLogin } from './login.ts';
import type { CodexHomes } from '../home/prepare-home.ts';
import { readLogin } from './read-login.ts';

/** The current login. */
export interface PresentLogin {
  readonly kind: Login;
  /** The same as long as the account is the same. */
  readonly account: string;
  /** Changes with the tokens: those of older workers may be used up. */
  readonly revision: string;
  /** Null: tokens that codex renews, or an API key. */
  readonly accessToken: PresentToken | null;
}

export interface PresentToken {
  readonly kind: AccessTokenKind;
  readonly origin: KeptLogin['origin'];
  /** Null: only its issuer knows. */
  readonly expiresAt: Date | null;
}

/**
 * Polls the login: people sign in and out while the server runs. Reads the file only if it has changed.
 * `onRefused` gets a sentence about a file that cannot be a login.
 */
export const createLoginWatch = (
  homes: CodexHomes,
  onRefused: (why: string) => void = () => {},
): (() => Promise<PresentLogin | null>) => {
  let seen: { readonly stamp: string; readonly login: PresentLogin | null } | null = null;
  return async () => {
    await homes.login.collect();
    const stamp = await homes.login.stamp();
    if (seen?.stamp === stamp) return seen.login;
    const found = await homes.login.find();
    if (found.kind === 'refused') onRefused(found.why);
    const text = found.kind === 'text' ? found.text : null;
    // The file is being written: keep the previous login until it is complete.
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
  const token = facts?.accessToken ?? null;
  return {
    kind,
    // API keys and personal access tokens contain no account id, so the revision identifies them.
    account: facts?.accountId ?? revision,
    revision,
    accessToken:
      token === null
        ? null
        : { kind: token, origin: homes.login.origin, expiresAt: facts?.expiresAt ?? null },
  };
};

const isWhole = (text: string): boolean => parseJsonObject(text) !== null;
