import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { request as send, type Dispatcher } from 'undici';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';
import { accessTokenRejected } from '../../failures/access-token.ts';
import { timeoutFailure } from '../../failures/classify.ts';
import { hostOf, unreachable } from '../../failures/unreachable.ts';
import { httpFailure, sourceOf } from '../answer/http-failure.ts';
import { requestHeaders } from '../request/headers.ts';
import { codeOf, isConnectionError, isTimeout, readShortBody } from './connection.ts';
import type { CookieJar } from './cookies.ts';

export interface TokenChecksOptions {
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  /** Null: the app-server manages cookies itself. */
  readonly cookies: CookieJar | null;
  /** Called if a Cloudflare page was the answer. */
  readonly onBlocked: () => void;
}

/** A request of codex to the issuer of its access token. */
export interface TokenCheck {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface CheckAnswer {
  readonly status: number;
  readonly body: Buffer | string;
}

interface CheckedToken {
  readonly answer: CheckAnswer;
  readonly failure: Failure | null;
  readonly at: number;
}

/** A start asks three times, and workers are replaced often; whose token it is does not change. */
const CONFIRMED_FOR_MS = 5 * 60_000;
/** Starts are repeated while a token is rejected. */
const REJECTED_FOR_MS = 30_000;
/** More than one token is used only while they are replaced. */
const MAX_KEPT = 8;
/** codex itself waits forever, and answers nothing until then. */
const TIMEOUT_MS = 10_000;

/**
 * The checks of an access token. codex asks its issuer at every start whose token it is; without an answer it
 * starts anyway, signed out, and sends model requests without credentials until it ends. So a confirmed
 * token stays confirmed while its issuer cannot be reached: if it was revoked, the backend rejects it.
 */
export class TokenChecks {
  readonly #options: TokenChecksOptions;
  readonly #kept = new Map<string, CheckedToken>();
  readonly #inProgress = new Map<string, Promise<CheckAnswer>>();
  #failure: Failure | null = null;

  constructor(options: TokenChecksOptions) {
    this.#options = options;
  }

  /** Why the last check did not confirm the token; null: it did, or there was none. */
  get failure(): Failure | null {
    return this.#failure;
  }

  async check(asked: TokenCheck): Promise<CheckAnswer> {
    if (asked.method !== 'GET') {
      const { answer, failure } = await this.#send(asked);
      this.#failure = failure;
      return answer;
    }
    const key = keyOf(asked);
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#options.clock.now() - kept.at < keepMs(kept)) {
      this.#failure = kept.failure;
      return kept.answer;
    }
    const inProgress = this.#inProgress.get(key);
    if (inProgress !== undefined) return inProgress;
    const asking = this.#ask(asked, key).finally(() => this.#inProgress.delete(key));
    this.#inProgress.set(key, asking);
    return asking;
  }

  async #ask(asked: TokenCheck, key: string): Promise<CheckAnswer> {
    const before = this.#kept.get(key);
    const now = await this.#send(asked);
    const isDecided = now.failure === null || isRefusal(now.answer.status);
    const wasConfirmed = before !== undefined && before.failure === null;
    const used = !isDecided && wasConfirmed ? before : now;
    this.#failure = used.failure;
    if (isDecided) {
      this.#kept.delete(key);
      this.#kept.set(key, now);
      forgetOldest(this.#kept, MAX_KEPT);
    }
    return used.answer;
  }

  async #send({ method, url, headers, body }: TokenCheck): Promise<CheckedToken> {
    const { clock, dispatcher, cookies } = this.#options;
    const at = clock.now();
    try {
      const cookie = cookies?.headerFor(url) ?? null;
      const answer = await send(url, {
        method,
        headers: { ...requestHeaders(headers, null, null), ...(cookie === null ? {} : { cookie }) },
        body: method === 'GET' ? null : body,
        dispatcher,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      cookies?.keep(url, answer.headers['set-cookie']);
      const read = { status: answer.statusCode, body: await readShortBody(answer) };
      return { answer: read, failure: this.#failureIn(url, headers, answer, read.body), at };
    } catch (error) {
      const isLate = isTimeUp(error) || isTimeout(codeOf(error));
      if (!isLate && !isConnectionError(error)) throw error;
      const failure = isLate ? timeoutFailure(hostOf(url)) : unreachable(hostOf(url), codeOf(error));
      return { answer: { status: 502, body: '{}' }, failure, at };
    }
  }

  #failureIn(
    url: string,
    asked: IncomingHttpHeaders,
    { statusCode: status, headers }: Dispatcher.ResponseData,
    body: Buffer,
  ): Failure | null {
    if (status < 400) return null;
    const source = sourceOf({ target: url, headers: asked, apiKey: null }, this.#options.clock.now());
    const failed = httpFailure({ status, headers, body: body.toString('utf8') }, source);
    if (failed.kind === 'upstream_blocked') this.#options.onBlocked();
    return failed.kind === 'upstream_unauthorized' ? accessTokenRejected() : failed;
  }
}

/** The token itself is not kept. */
const keyOf = ({ url, headers }: TokenCheck): string =>
  createHash('sha256')
    .update(`${url} ${headers.authorization ?? ''}`)
    .digest('hex');

const keepMs = ({ failure }: CheckedToken): number => (failure === null ? CONFIRMED_FOR_MS : REJECTED_FOR_MS);

/** A decision about the token; other errors are about the service. */
const isRefusal = (status: number): boolean => status === 401;

const isTimeUp = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';
