import type { JsonObject } from '../../kit/json/json.ts';
import type { Path } from '../request/path.ts';
import type { CatalogueEntry, ErrorSource } from './catalogue-row.ts';
import { FAILURES, type FailureCode } from './failure-catalogue.ts';

/** An error as plain data, made from a row of the catalogue. `GatewayError` wraps it where code throws. */
export interface Failure {
  /** Its row in the catalogue, or in the table of a feature. */
  readonly kind: FailureCode | FeatureFailureCode;
  readonly status: number;
  readonly type: string;
  /** The `code` that the client sees: the row's name, or the upstream's own code. */
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** The part of the request that it is about: the API that parsed it names it as the `param`. */
  readonly path?: Path;
  readonly retryAfterSeconds: number | null;
  /** Additional response headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Additional fields of the error object, for clients that read them. */
  readonly more?: JsonObject;
  /** Of a feature's failure: its row, because the catalogue does not have it. */
  readonly row?: CatalogueEntry;
}

/** Only tables of features have it, so that a comparison with a misspelt code does not compile. */
export type FeatureFailureCode = string & { readonly [IN_FEATURE]: true };
declare const IN_FEATURE: unique symbol;

interface FailureDetails {
  readonly message?: string;
  readonly param?: string | null;
  readonly path?: Path;
  readonly code?: string;
  readonly retryAfterSeconds?: number;
  readonly more?: JsonObject;
}

/** Last limit on text from clients or upstreams, so that an error never echoes megabytes. */
const MAX_MESSAGE_CHARS = 5_000;
const MAX_PARAM_CHARS = 300;

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

export const failure = (kind: FailureCode, details: FailureDetails = {}): Failure => {
  const { row: _, ...failed } = failureFrom(kind, FAILURES[kind], details);
  return { ...failed, kind };
};

/** A failure with its row, for the tables of features. */
export const failureFrom = (
  kind: string,
  row: CatalogueEntry,
  details: FailureDetails,
): Failure & { readonly row: CatalogueEntry } => ({
  kind: kind as FeatureFailureCode,
  row,
  status: row.status,
  type: row.type,
  code: details.code ?? kind,
  message: cut(details.message ?? row.message, MAX_MESSAGE_CHARS),
  param: details.param === undefined || details.param === null ? null : cut(details.param, MAX_PARAM_CHARS),
  retryAfterSeconds: details.retryAfterSeconds ?? null,
  // OpenAI clients retry 429 and 5xx automatically.
  headers: row.final === true ? { 'x-should-retry': 'false' } : {},
  ...(details.path === undefined ? {} : { path: details.path }),
  ...(details.more === undefined ? {} : { more: details.more }),
});

/** The row of a failure. */
export const catalogueRowOf = ({ kind, row }: Failure): CatalogueEntry =>
  row ?? FAILURES[kind as FailureCode];

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

/** The failure to report for any thrown value. Unknown errors hide their message, which may contain paths or keys. */
export const failureOf = (error: unknown): Failure =>
  error instanceof GatewayError ? error.failure : failure('server_error');

/** Where the status alone would be misleading. */
const SOURCES: Readonly<Partial<Record<FailureCode, ErrorSource>>> = {
  invalid_api_key: 'key',
  missing_scope: 'key',
  concurrency_limit: 'key',
  model_request_limit_exceeded: 'server',
  client_too_slow: 'client',
  insufficient_quota: 'account',
  upstream_unauthorized: 'account',
  account_unavailable: 'account',
  sign_in_required: 'account',
  rate_limit_exceeded: 'backend',
  upstream_error: 'backend',
  upstream_forbidden: 'backend',
  upstream_blocked: 'backend',
  upstream_unreachable: 'backend',
  upstream_timeout: 'backend',
  upstream_overloaded: 'backend',
  too_many_output_items: 'backend',
  answer_too_large: 'backend',
  tool_choice_not_satisfied: 'backend',
  image_not_generated: 'backend',
};

export const errorSourceOf = ({ kind, status, row }: Failure): ErrorSource =>
  row?.source ?? SOURCES[kind as FailureCode] ?? (status < 500 ? 'client' : 'server');

/** Rewrites a failure. `count` counts the tokens of the input; it resolves with null if that fails or takes too long. */
export type Restate = (failed: Failure, count: () => Promise<number | null>) => Promise<Failure>;

/** The errors of a feature, by their codes. */
export type FeatureFailures = Readonly<Record<string, CatalogueEntry>>;

/** Makes the errors of a feature's table. */
export const featureErrors =
  <Table extends FeatureFailures>(table: Table) =>
  (kind: keyof Table & string, details: FailureDetails = {}): GatewayError =>
    new GatewayError(failureFrom(kind, table[kind] as CatalogueEntry, details));

/** System error codes for resources that this process ran out of. */
const RESOURCE_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

const RETRY_AFTER_SECONDS = 1;

/** The same errors in the app-server's messages, such as `Too many open files (os error 24)`. */
const RESOURCE_MESSAGE = /\(os error (?:12|23|24|105)\)/;

export const resourceFailure = (): Failure =>
  failure('out_of_resources', { retryAfterSeconds: RETRY_AFTER_SECONDS });

export const isResourceError = (message: string): boolean => RESOURCE_MESSAGE.test(message);

/** The failure for a system error code; null if the code is not about resources. */
export const resourceFailureFor = (code: string | null): Failure | null =>
  code !== null && RESOURCE_CODES.has(code) ? resourceFailure() : null;
