import { row } from './catalogue-row.ts';

/** Errors of the console. */
export const CONSOLE_FAILURES = {
  console_not_served: row(
    403,
    'The console is not served at this address.',
    'the session of the console over plain HTTP from another machine; `PROXY_CONSOLE=insecure` allows it',
    { final: true },
  ),
  sign_in_limit_exceeded: row(
    429,
    'Too many attempts to sign in. Please try again later.',
    'about ten wrong keys within a minute at the sign-in of the console',
  ),
} as const;
