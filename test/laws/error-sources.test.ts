import { expect, it } from 'vitest';

import { failure, type Failure } from '../../src/canonical/failure/failure.ts';
import { FAILURES, type FailureCode } from '../../src/canonical/failure/failure-catalogue.ts';
import type { TurnEnding } from '../../src/observe/observer.ts';
import { requestEnd, type RequestEnd, type RequestNotes } from '../../src/observe/request-end.ts';
import { recordOf } from '../../src/features/request-log/record.ts';
import { countsOf, NO_USAGE } from '../../src/features/usage/usage-counts.ts';

const request = { requestId: 'r', method: 'POST', route: '/v1/responses', startedAt: 0, backgroundId: null };

const endOf = (status: number, notes: RequestNotes): RequestEnd =>
  requestEnd(request, { status, ...notes }, 1);

const turnOf = (ending: TurnEnding) => ({
  turn: { ending, usage: null, firstEventMs: null, durationMs: 1 },
});

/** Every way in which a request can end with a failure. */
const endsWith = (failed: Failure): readonly RequestEnd[] => [
  endOf(failed.status, { failure: failed }),
  endOf(200, turnOf({ kind: 'ended', outcome: { kind: 'failed', failure: failed } })),
  endOf(200, turnOf({ kind: 'thrown', failure: failed })),
  endOf(200, { failure: failed, ...turnOf({ kind: 'abandoned' }) }),
];

const COUNTED = {
  client: 'clientErrors',
  key: 'clientErrors',
  server: 'serverErrors',
  account: 'upstreamErrors',
  backend: 'upstreamErrors',
} as const;

it.each(Object.keys(FAILURES) as FailureCode[])(
  'usage and the request log agree about the source of %s',
  (code) => {
    for (const failed of [failure(code), failure(code, { code: 'code_of_the_upstream' })]) {
      for (const end of endsWith(failed)) {
        const { error } = recordOf(end, { id: 'rql_1', instance: 'a' });
        const counted = failed.status === 429 ? 'limitErrors' : COUNTED[error?.source ?? 'client'];
        expect([error?.code, countsOf(end)]).toEqual([
          failed.code,
          { ...NO_USAGE, requests: 1, [counted]: 1 },
        ]);
      }
    }
  },
);
