import type { JsonObject } from '../../kit/json/json.ts';
import { FAILURES, type FailureCode } from './failure-catalogue.ts';
import type { CatalogueEntry } from './failure-row.ts';

/** A failure is a value, made from a row of the catalogue; `GatewayError` only carries it through code that throws. */
export interface Failure {
  /** The row of the catalogue. */
  readonly kind: FailureCode;
  readonly status: number;
  readonly type: string;
  /** What the client sees as `code`: the row's name, or the upstream's own code. */
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  /** Further headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further members of the error object, for a client that looks for them. */
  readonly more?: JsonObject;
}

interface FailureDetails {
  readonly message?: string;
  readonly param?: string | null;
  readonly code?: string;
  readonly retryAfterSeconds?: number;
}

/** Whoever forgets to cut what a client or an upstream wrote: a client is not sent its own megabytes. */
const MAX_MESSAGE_CHARS = 5_000;
const MAX_PARAM_CHARS = 300;

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

export const failure = (kind: FailureCode, details: FailureDetails = {}): Failure => {
  const row: CatalogueEntry = FAILURES[kind];
  return {
    kind,
    status: row.status,
    type: row.type,
    code: details.code ?? kind,
    message: cut(details.message ?? row.message, MAX_MESSAGE_CHARS),
    param: details.param === undefined || details.param === null ? null : cut(details.param, MAX_PARAM_CHARS),
    retryAfterSeconds: details.retryAfterSeconds ?? null,
    // Clients of OpenAI try 429 and 5xx again by themselves.
    headers: row.final === true ? { 'x-should-retry': 'false' } : {},
  };
};

export class GatewayError extends Error {
  readonly failure: Failure;

  constructor(failed: Failure, options?: ErrorOptions) {
    super(failed.message, options);
    this.name = 'GatewayError';
    this.failure = failed;
  }
}

export const gatewayError = (kind: FailureCode, details: FailureDetails = {}): GatewayError =>
  new GatewayError(failure(kind, details));

/** What an unknown throw is for the client: never its own words, which may name paths or keys. */
export const failureOf = (error: unknown): Failure =>
  error instanceof GatewayError ? error.failure : failure('server_error');
