import type { IncomingHttpHeaders } from 'node:http';

import { forgetOldest } from '../../../kit/collections/recent.ts';

const MAX_OLD = 32;

interface Login {
  readonly account: string;
  readonly authorization: string;
}

const loginIn = (headers: IncomingHttpHeaders): Login | null => {
  const { authorization, 'chatgpt-account-id': account } = headers;
  return authorization === undefined || typeof account !== 'string' ? null : { account, authorization };
};

/**
 * The newest access token of a ChatGPT login. A turn that was started early holds a request with the token of that
 * time: after a renewal it would be rejected, or need a connection of its own.
 */
export class NewestToken {
  readonly #old = new Set<string>();
  #newest: Login | null = null;

  /** Notes the token of a request that arrives. */
  see(headers: IncomingHttpHeaders): void {
    const login = loginIn(headers);
    if (login === null || this.#old.has(login.authorization)) return;
    if (this.#newest !== null && this.#newest.authorization !== login.authorization) {
      this.#old.add(this.#newest.authorization);
      forgetOldest(this.#old, MAX_OLD);
    }
    this.#newest = login;
  }

  /** The headers with the newest token, if that is of the same account. */
  applyTo(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const login = loginIn(headers);
    return login === null || this.#newest === null || login.account !== this.#newest.account
      ? headers
      : { ...headers, authorization: this.#newest.authorization };
  }
}
