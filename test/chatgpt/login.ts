import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A made-up login: nothing in it is signed, and only the fake accepts it. */
export interface LoginOptions {
  readonly plan?: string;
  /** Negative: expired long ago. */
  readonly expiresInSeconds?: number;
  readonly accountId?: string;
  readonly email?: string;
}

export interface Account {
  readonly accountId: string;
  readonly plan: string;
  readonly email: string;
}

export interface Tokens {
  readonly id_token: string;
  readonly access_token: string;
  readonly refresh_token: string;
}

const DAY_SECONDS = 86_400;

export const accountOf = (options: LoginOptions): Account => ({
  accountId: options.accountId ?? 'acc-1',
  plan: options.plan ?? 'plus',
  email: options.email ?? 'person@example.com',
});

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

let serial = 0;

/** Tokens that differ from all others and identify their account. */
export const makeTokens = (account: Account, expiresInSeconds = DAY_SECONDS): Tokens => {
  serial += 1;
  const token = (kind: string): string => {
    const claims = {
      jti: `${kind}-${String(process.pid)}-${String(serial)}`,
      email: account.email,
      exp: Math.floor(Date.now() / 1000) + expiresInSeconds,
      'https://api.openai.com/auth': {
        chatgpt_plan_type: account.plan,
        chatgpt_account_id: account.accountId,
        chatgpt_user_id: `user-of-${account.accountId}`,
      },
    };
    return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.${encode({ unsigned: true })}`;
  };
  return {
    id_token: token('id'),
    access_token: token('access'),
    refresh_token: `rt_${encode({ ...account, serial, pid: process.pid })}`,
  };
};

export interface ReadToken extends Account {
  readonly expiresAt: number;
}

const objectIn = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // Not one of ours.
    return null;
  }
};

export const readAccessToken = (token: string): ReadToken | null => {
  const claims = objectIn(token.split('.')[1] ?? '');
  const auth = claims?.['https://api.openai.com/auth'] as Record<string, unknown> | undefined;
  if (claims === null || auth === undefined) return null;
  return {
    accountId: String(auth['chatgpt_account_id']),
    plan: String(auth['chatgpt_plan_type']),
    email: String(claims['email']),
    expiresAt: Number(claims['exp']),
  };
};

export const readRefreshToken = (token: string): Account | null => {
  const account = token.startsWith('rt_') ? objectIn(token.slice(3)) : null;
  return account === null
    ? null
    : {
        accountId: String(account['accountId']),
        plan: String(account['plan']),
        email: String(account['email']),
      };
};

const writeAuth = async (dir: string, auth: object): Promise<void> => {
  await mkdir(dir, { recursive: true });
  await writeFile(path.join(dir, 'auth.json'), JSON.stringify(auth), { mode: 0o600 });
};

/** Writes what `codex login` would leave in a `CODEX_HOME`. */
export const writeLogin = async (dir: string, options: LoginOptions = {}): Promise<Tokens> => {
  const account = accountOf(options);
  const tokens = makeTokens(account, options.expiresInSeconds);
  await writeAuth(dir, {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { ...tokens, account_id: account.accountId },
    last_refresh: new Date().toISOString(),
  });
  return tokens;
};

export const writeApiKeyLogin = (dir: string, key = 'sk-made-up-0123456789'): Promise<void> =>
  writeAuth(dir, { auth_mode: 'apikey', OPENAI_API_KEY: key, tokens: null, last_refresh: null });
