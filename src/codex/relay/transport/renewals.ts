import type { IncomingHttpHeaders } from 'node:http';

import { request as send, type Dispatcher } from 'undici';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';
import { parseJsonObject, textIn } from '../../../kit/json/json.ts';
import { timeoutFailure } from '../../failures/classify.ts';
import { hostOf, unreachable } from '../../failures/unreachable.ts';
import { codeOf, isConnectionError, isTimeout, readShortBody } from './connection.ts';
import type { CookieJar } from './cookies.ts';
import { requestHeaders } from '../request/headers.ts';
import { httpFailure, sourceOf } from '../answer/http-failure.ts';

export interface RenewalsOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  /** Null: the app-server manages cookies itself. */
  readonly cookies: CookieJar | null;
  /** Called if a Cloudflare page was the answer. */
  readonly onBlocked: () => void;
  /** Called if the login is renewed far too often; the renewal was rejected. */
  readonly onRenewalThrottled: () => void;
  /** Where the login is kept. */
  readonly login: RenewedLogin;
}

export interface RenewedLogin {
  /** Called with new tokens before an app-server gets them. */
  renewed(refreshToken: string | null, answer: string): Promise<void>;
  /** The response for a refresh token that was replaced by other means; null if it was not. */
  successorOf(refreshToken: string): Promise<string | null>;
}

/** A token refresh as codex requests it. */
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
const SEND_BURST = 6;
/** As many turns may find at the same time that their token has expired. */
const ASK_BURST = 256;
const ONE_MORE_EVERY_MS = 30_000;
/** A token issued this recently is not renewed again: its app-server gets the same response once more. */
const SHARED_FOR_MS = 10_000;
const MAX_REMEMBERED = 64;
const TIMEOUT_MS = 30_000;
/** A turn that fails later than this after a renewal has another cause. */
const FAILURE_COUNTS_MS = 60_000;

/** Like a service that is down for a moment: codex continues with its current tokens. */
const THROTTLED: RenewalAnswer = { status: 503, body: JSON.stringify({ error: 'temporarily_unavailable' }) };

/** A successful renewal, stored under the refresh token that it used up and the one that it issued. */
interface PastRenewal {
  readonly answer: RenewalAnswer;
  readonly at: number;
}

/**
 * The token renewals of one login. codex renews once per thread without checking whether another thread has
 * just done so, and a refresh token can be used once: so all requests with the same refresh token share one
 * response. A different refresh token, such as from a new sign-in, is renewed separately. codex also renews
 * an expiring token without a pause: if the machine's clock is ahead, every token looks expired, and the
 * token service would get hundreds of requests per second.
 */
export class Renewals {
  readonly #options: RenewalsOptions;
  readonly #clock: Clock;
  readonly #sent: TokenBucket;
  readonly #asked: TokenBucket;
  readonly #inProgress = new Map<string, Promise<RenewalAnswer>>();
  readonly #used = new Map<string, PastRenewal>();
  readonly #given = new Map<string, PastRenewal>();
  #failure: { readonly failed: Failure; readonly at: number } | null = null;

  constructor(options: RenewalsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#sent = new TokenBucket(SEND_BURST, options.clock);
    this.#asked = new TokenBucket(ASK_BURST, options.clock);
  }

  /** Why the login could not be renewed recently, if that is not the login's own fault. */
  get failure(): Failure | null {
    return this.#failure !== null && this.#clock.now() - this.#failure.at < FAILURE_COUNTS_MS
      ? this.#failure.failed
      : null;
  }

  async renew(renewal: Renewal): Promise<RenewalAnswer> {
    if (!this.#asked.take()) return this.#throttled();
    const token = refreshTokenIn(renewal.body.toString('utf8'));
    const remembered = this.#remembered(token);
    if (remembered !== null) return remembered;
    const inProgress = this.#inProgress.get(token);
    if (inProgress !== undefined) return inProgress;
    const renewing = this.#renewOnce(token, renewal).finally(() => this.#inProgress.delete(token));
    this.#inProgress.set(token, renewing);
    return renewing;
  }

  async #renewOnce(token: string, renewal: Renewal): Promise<RenewalAnswer> {
    const known = await this.#successorOf(token);
    if (known !== null) return known;
    if (!this.#sent.take()) return this.#throttled();
    const answer = await this.#send(renewal);
    if (answer.status < 400) return this.#save(token, answer);
    // Another server with the same login may have been faster.
    return (await this.#successorOf(token)) ?? answer;
  }

  async #save(token: string, answer: RenewalAnswer): Promise<RenewalAnswer> {
    const text = answer.body.toString('utf8');
    const given = refreshTokenIn(text);
    const saved = (async () => {
      await this.#options.login.renewed(token === '' ? null : token, text);
      this.#remember(token, answer);
      return answer;
    })();
    // An app-server may find the new tokens in the file, and renew them, before they are remembered.
    if (given === '' || given === token) return saved;
    this.#inProgress.set(given, saved);
    return saved.finally(() => this.#inProgress.delete(given));
  }

  #remembered(token: string): RenewalAnswer | null {
    const used = this.#used.get(token);
    if (used !== undefined) return used.answer;
    const given = this.#given.get(token);
    return given !== undefined && this.#clock.now() - given.at < SHARED_FOR_MS ? given.answer : null;
  }

  #remember(token: string, answer: RenewalAnswer): void {
    const given = refreshTokenIn(answer.body.toString('utf8'));
    const remembered = { answer, at: this.#clock.now() };
    // A service that issues no new refresh token accepts the old one again.
    const isRotated = token !== '' && given !== '' && given !== token;
    if (isRotated) this.#used.set(token, remembered);
    this.#given.set(isRotated ? given : token, remembered);
    forgetOldest(this.#used, MAX_REMEMBERED);
    forgetOldest(this.#given, MAX_REMEMBERED);
  }

  async #successorOf(token: string): Promise<RenewalAnswer | null> {
    const body = token === '' ? null : await this.#options.login.successorOf(token);
    return body === null ? null : { status: 200, body };
  }

  #throttled(): RenewalAnswer {
    this.#options.onRenewalThrottled();
    return THROTTLED;
  }

  /** Sent once: the old token may be void even if the response was lost. */
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
      this.#failure = null;
      return answer;
    }
    const said = { status, headers, body: body.toString('utf8') };
    const failed = httpFailure(
      said,
      sourceOf({ target: url, headers: asked, apiKey: null }, this.#clock.now()),
    );
    // codex itself repeats what the service reports about the login.
    if (failed.kind === 'upstream_blocked') {
      this.#options.onBlocked();
      this.#failed(failed);
    } else this.#failure = null;
    return answer;
  }

  #failed(failed: Failure): void {
    this.#failure = { failed, at: this.#clock.now() };
  }
}

/** Empty if missing. */
const refreshTokenIn = (body: string): string => textIn(parseJsonObject(body) ?? {}, 'refresh_token');

const isTimeUp = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

/** Allows a burst, then a steady rate. */
class TokenBucket {
  readonly #most: number;
  #left: number;
  readonly #clock: Clock;
  #countedAtMs: number;

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#left = most;
    this.#clock = clock;
    this.#countedAtMs = clock.now();
  }

  /** Takes a token if one is left. */
  take(): boolean {
    const more = Math.floor((this.#clock.now() - this.#countedAtMs) / ONE_MORE_EVERY_MS);
    if (more > 0) {
      this.#left = Math.min(this.#most, this.#left + more);
      this.#countedAtMs += more * ONE_MORE_EVERY_MS;
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
