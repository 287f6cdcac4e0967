import { describe, expect, it } from 'vitest';

import type { Failure } from '../../canonical/failure/failure.ts';
import { rpcFailure } from '../../engine/attempt/app-server-turn.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { httpFailure, streamFailure } from '../relay/answer/http-failure.ts';
import { RpcError } from '../rpc/errors.ts';
import { toFailure } from '../translate/failures.ts';

/** The same error can arrive over several channels, and clients must not see a difference. */

const HOST = 'backend.example:8443';
const SOURCE = { host: HOST, nowMs: 0, secrets: [] };
const INVALID_REQUEST = -32_600;

interface Said {
  readonly status: number;
  readonly error: JsonObject | null;
}

/** As the relay reads it from the HTTP answer. */
const byHttp = ({ status, error }: Said): Failure =>
  httpFailure({ status, headers: {}, body: error === null ? '' : JSON.stringify({ error }) }, SOURCE);

/** As the relay reads it from an event in the answer. */
const byStream = ({ status, error }: Said): Failure =>
  streamFailure({ type: 'error', status, error: error ?? {} }, SOURCE);

const repeated = ({ status, error }: Said): string =>
  `unexpected status ${status} Words: ${error === null ? '' : JSON.stringify({ error })}, url: https://${HOST}/v1/responses, cf-ray: 1`;

/** As codex repeats it, with the status next to the message. */
const byCodex = (said: Said): Failure =>
  toFailure({
    message: repeated(said),
    codexErrorInfo: { responseStreamConnectionFailed: { httpStatusCode: said.status } },
  });

/** As codex repeats it in a message only. */
const byWords = (said: Said): Failure => toFailure({ message: repeated(said), codexErrorInfo: 'other' });

const STATUSES = [
  400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 422, 425, 429, 500, 501, 502, 503, 504, 520, 524, 529,
];
const ERRORS: readonly (JsonObject & { readonly message: string })[] = [
  { message: 'Words.' },
  { message: 'Bad x.', type: 'invalid_request_error', code: 'invalid_value', param: 'x' },
  { message: 'No x.', code: 'model_not_found', param: 'model' },
  { message: 'The model `x` does not exist.', type: 'NotFoundError' },
  { message: 'Long.', code: 'context_length_exceeded' },
  { message: 'Slow.', code: 'rate_limit_exceeded' },
  { message: 'Please try again in 230ms.', type: 'rate_limit_error' },
  { message: 'Used up.', type: 'usage_limit_reached', resets_at: 1_795_185_000, resets_in_seconds: 60 },
  { message: 'Upgrade.', type: 'usage_not_included' },
  { message: 'Busy.', type: 'overloaded_error' },
  { message: 'Busy.', code: 'server_is_overloaded' },
  { message: 'Selected model is at capacity.' },
  { message: 'No.', code: 'cyber_policy' },
  { message: 'API key not valid.', code: 'invalid_api_key' },
  { message: 'Oops.', type: 'server_error', code: 'server_error' },
  { message: 'Not verified.', code: 'invalid_encrypted_content' },
];

const said = (status: number, error: JsonObject | null): Said => ({ status, error });

describe.each(STATUSES)('%i', (status) => {
  it('is the same failure over every channel', () => {
    for (const one of [said(status, null), ...ERRORS.map((error) => said(status, error))]) {
      const expected = byHttp(one);
      expect({ one, stream: byStream(one), codex: byCodex(one), words: byWords(one) }).toEqual({
        one,
        stream: expected,
        codex: expected,
        words: expected,
      });
    }
  });
});

describe('400', () => {
  it('is the same failure if codex passes the body on or rejects the request itself', () => {
    for (const error of ERRORS) {
      const body = JSON.stringify({ error });
      expect(toFailure({ message: body, codexErrorInfo: 'badRequest' })).toEqual(byHttp(said(400, error)));
      const { message } = error;
      expect(rpcFailure(new RpcError({ code: INVALID_REQUEST, message }))).toEqual(
        byHttp(said(400, { message })),
      );
    }
  });
});

it('maps 408 to a timeout and 529 to overload', () => {
  const ways = [byHttp, byStream, byCodex, byWords];
  expect(ways.map((way) => way(said(408, null)).kind)).toEqual(ways.map(() => 'upstream_timeout'));
  expect(ways.map((way) => way(said(529, null)).kind)).toEqual(ways.map(() => 'upstream_overloaded'));
});

it.each([
  'Model not found',
  'Your request was flagged.',
  'Busy.',
  'Not Found',
  'API key not valid.',
  '<html><body>502</body></html>',
  'upstream request timeout',
])('maps a plain-text body to the same failure: %s', (text) => {
  const kinds = STATUSES.map((status) => {
    const message = `unexpected status ${status} Words: ${text}, url: https://${HOST}/v1/responses`;
    return [
      httpFailure({ status, headers: {}, body: text }, SOURCE),
      toFailure({ message, codexErrorInfo: 'other' }),
    ];
  });
  expect(kinds.map(([, codex]) => codex)).toEqual(kinds.map(([http]) => http));
});
