import type { IncomingHttpHeaders } from 'node:http';

import { request as send, type Dispatcher } from 'undici';

import type { Failure } from '../../canonical/failure.ts';
import { timeoutFailure } from '../failures/classify.ts';
import { hostOf, unreachable } from '../failures/unreachable.ts';
import { codeOf, isConnectionError, isTimeout, readShortBody } from './connection.ts';
import type { CookieJar } from './cookies.ts';
import { requestHeaders } from './headers.ts';
import { httpFailure, sourceOf } from './http-failure.ts';

export interface RenewalsOptions {
  readonly dispatcher: Dispatcher;
  readonly cookies: CookieJar | null;
  /** A page of Cloudflare's came instead of an answer. */
  readonly onBlocked: () => void;
  /** The login is renewed far too often; this time it was not. */
  readonly onRenewalHeld: () => void;
}

/** A renewal as codex asks for it. */
export interface Renewal {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RenewalAnswer {
  readonly status: number;
  readonly body: Buffer | string;
}

/** A login is renewed every few hours; a start, or two workers at once, may need some more. */
const SENT_AT_ONCE = 6;
/** As many turns may find at the same time that their token has ended. */
const ASKED_AT_ONCE = 256;
const ONE_MORE_EVERY_MS = 30_000;
/** Who asks this soon after a renewal gets what the one before got. */
const SHARED_FOR_MS = 10_000;
const TIMEOUT_MS = 30_000;
/** A turn that fails later than this after a renewal has a reason of its own. */
const FAILURE_COUNTS_MS = 60_000;

/** As of a service that is down for a moment: codex goes on with the tokens that it has. */
const HELD: RenewalAnswer = { status: 503, body: JSON.stringify({ error: 'temporarily_unavailable' }) };

/**
 * The renewals of one login. codex renews once per thread, without asking whether another thread has
 * just done so, and a refresh token can be used once: so all who ask at about the same time share one
 * answer. And it renews a token that is about to end without a pause: on a machine whose clock is ahead
 * every token looks so, and its service would be asked some hundred times a second.
 */
export class Renewals {
  readonly #options: RenewalsOptions;
  readonly #sent = new Allowance(SENT_AT_ONCE);
  readonly #asked = new Allowance(ASKED_AT_ONCE);
  #underWay: Promise<RenewalAnswer> | null = null;
  #last: { readonly answer: RenewalAnswer; readonly at: number } | null = null;
  #failure: { readonly failed: Failure; readonly at: number } | null = null;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /** Why the login could not be renewed of late, where that is not the login's own fault. */
  get failure(): Failure | null {
    return this.#failure !== null && Date.now() - this.#failure.at < FAILURE_COUNTS_MS
      ? this.#failure.failed
      : null;
  }

  async renew(renewal: Renewal): Promise<RenewalAnswer> {
    if (!this.#asked.take()) return this.#held();
    if (this.#underWay !== null) return this.#underWay;
    if (this.#last !== null && Date.now() - this.#last.at < SHARED_FOR_MS) return this.#last.answer;
    if (!this.#sent.take()) return this.#held();
    this.#underWay = this.#send(renewal).finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  #held(): RenewalAnswer {
    this.#options.onRenewalHeld();
    return HELD;
  }

  /** Sent once: its old token may be void even if the answer got lost on the way. */
  async #send({ url, headers, body }: Renewal): Promise<RenewalAnswer> {
    const { dispatcher, cookies } = this.#options;
    try {
      const cookie = cookies?.headerFor(url) ?? null;
      const answer = await send(url, {
        method: 'POST',
        headers: { ...requestHeaders(headers, null, null), ...(cookie === null ? {} : { cookie }) },
        body,
        dispatcher,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      cookies?.keep(url, answer.headers['set-cookie']);
      const text = await readShortBody(answer);
      return this.#read(url, headers, answer, text);
    } catch (error) {
      if (!isConnectionError(error) && !isTimeUp(error)) throw error;
      const code = codeOf(error);
      const isLate = isTimeUp(error) || isTimeout(code);
      this.#failed(isLate ? timeoutFailure(hostOf(url)) : unreachable(hostOf(url), code));
      return { status: 502, body: '{}' };
    }
  }

  #read(
    url: string,
    asked: IncomingHttpHeaders,
    { statusCode: status, headers }: Dispatcher.ResponseData,
    body: Buffer,
  ): RenewalAnswer {
    const answer = { status, body };
    if (status < 400) {
      this.#last = { answer, at: Date.now() };
      this.#failure = null;
      return answer;
    }
    const said = { status, headers, body: body.toString('utf8') };
    const failed = httpFailure(said, sourceOf(url, asked, null));
    // What the service says about the login itself, codex repeats in its own words.
    if (failed.kind === 'upstream_blocked') {
      this.#options.onBlocked();
      this.#failed(failed);
    } else this.#failure = null;
    return answer;
  }

  #failed(failed: Failure): void {
    this.#failure = { failed, at: Date.now() };
  }
}

const isTimeUp = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

/** So many at once, and then one more now and then. */
class Allowance {
  readonly #most: number;
  #left: number;
  #countedAtMs = Date.now();

  constructor(most: number) {
    this.#most = most;
    this.#left = most;
  }

  /** Whether there is one left; if so it is taken. */
  take(): boolean {
    const more = Math.floor((Date.now() - this.#countedAtMs) / ONE_MORE_EVERY_MS);
    if (more > 0) {
      this.#left = Math.min(this.#most, this.#left + more);
      this.#countedAtMs += more * ONE_MORE_EVERY_MS;
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
