import type { IncomingHttpHeaders } from 'node:http';

import type { Failure } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { isBlockPage } from '../../failures/block-page.ts';
import { classify, NO_DETAILS, type ReportedError } from '../../failures/classify.ts';
import { readError, readErrorBody, type UpstreamError } from '../../failures/read-error.ts';
import { hostOf } from '../../failures/unreachable.ts';
import { retryAfterOf } from '../request/headers.ts';

/** Who answers, when, and which secrets must not be quoted to the client. */
export interface Source {
  readonly host: string;
  readonly nowMs: number;
  readonly secrets: readonly string[];
}

/** What was sent, and to which URL. */
interface SentRequest {
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly apiKey: string | null;
}

export const sourceOf = (sent: SentRequest, nowMs: number): Source => ({
  host: hostOf(sent.target),
  nowMs,
  secrets: secretsIn(sent),
});

export const secretsIn = ({ headers, apiKey }: SentRequest): readonly string[] => [
  apiKey ?? '',
  (headers.authorization ?? '').replace(/^(?:bearer|agentassertion) /i, ''),
  String(headers['chatgpt-account-id'] ?? ''),
];

interface HttpError {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Translates an HTTP error of the backend for the client. */
export const httpFailure = (
  { status, headers, body }: HttpError,
  { host, nowMs, secrets }: Source,
): Failure => {
  const mitigated = headers['cf-mitigated'];
  const said: ReportedError = {
    ...withBothTimes(readErrorBody(body), nowMs),
    status,
    retryAfterSeconds: retryAfterOf(headers, nowMs),
    host,
    isBlockPage: isBlockPage(status, body, mitigated === undefined ? null : String(mitigated)),
  };
  return classify(said, secrets);
};

/** The failure in an `error` event or a `response.failed`, whose error is nested in different ways. */
export const streamFailure = (event: JsonObject, source: Source): Failure => {
  const response = isJsonObject(event['response']) ? event['response'] : {};
  const nested = [response['error'], event['error']].find(isJsonObject);
  const read = readError(nested ?? { ...event, type: undefined });
  const status = [event['status'], event['status_code']].find((one) => typeof one === 'number' && one >= 400);
  const said: ReportedError = {
    ...NO_DETAILS,
    ...withBothTimes(read, source.nowMs),
    status: typeof status === 'number' ? status : null,
    host: source.host,
  };
  return classify(said, source.secrets);
};

/** Backends send the reset time or the delay; clients need both. */
const withBothTimes = (read: UpstreamError, nowMs: number): UpstreamError => {
  const now = nowMs / 1000;
  const { resetsAt, resetsInSeconds } = read;
  if (resetsAt !== null) return { ...read, resetsInSeconds: resetsInSeconds ?? resetsAt - now };
  return resetsInSeconds === null ? read : { ...read, resetsAt: now + resetsInSeconds };
};
