import { isHttps, type ConsoleMode } from './own-page.ts';

/** Browsers accept this name only from a secure address, for its whole host, and never from another host. */
const SECURE_NAME = '__Host-codex-console';
/** For `PROXY_CONSOLE=insecure`: browsers refuse a `Secure` cookie over plain HTTP. */
const PLAIN_NAME = 'codex-console';

const TOKEN = /^[\w-]{43}$/;

const isPlain = (headers: Headers, mode: ConsoleMode): boolean => mode === 'insecure' && !isHttps(headers);

/** The session token of a request; null if it has none. */
export const readSessionCookie = (headers: Headers, mode: ConsoleMode): string | null => {
  const name = isPlain(headers, mode) ? PLAIN_NAME : SECURE_NAME;
  for (const part of (headers.get('cookie') ?? '').split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2);
    if (key === name && TOKEN.test(value)) return value;
  }
  return null;
};

/** Whether the request comes with a cookie of the console, valid or not. */
export const hasSessionCookie = (headers: Headers): boolean =>
  headers.get('cookie')?.includes(PLAIN_NAME) === true;

/** The header that sets the cookie; without a token it removes it. */
export const sessionCookie = (
  headers: Headers,
  mode: ConsoleMode,
  token: string | null,
  seconds: number,
): string => {
  const plain = isPlain(headers, mode);
  const value = token === null ? '; Max-Age=0' : `${token}; Max-Age=${seconds}`;
  const name = plain ? PLAIN_NAME : SECURE_NAME;
  const secure = plain ? '' : '; Secure';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`;
};
