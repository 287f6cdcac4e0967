import { expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { failure, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { accessTokenRejected } from '../../codex/failures/access-token.ts';
import { nameAccessToken } from './name-access-token.ts';

const { signal } = new AbortController();
const ended = (failed: Failure): TurnEvent => ({
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failed },
  usage: null,
  at: 1_800_000_000_000,
});

const shown = async (failed: Failure, usesAccessToken: boolean): Promise<readonly unknown[]> => {
  const wrap = (run: Parameters<typeof planOf>[0]) =>
    collect(throughStep(nameAccessToken, { usesAccessToken }, planOf(run)).run(signal));
  const events = await wrap(async function* () {
    yield ended(failed);
  });
  const thrown = await wrap(async function* () {
    yield* [];
    throw new GatewayError(failed);
  }).catch((error: unknown) => (error instanceof GatewayError ? ended(error.failure) : error));
  return [...events, thrown];
};

const REFUSED: Failure = {
  ...failure('upstream_unauthorized'),
  headers: { 'x-upstream-request-id': 'r1', 'x-should-retry': 'false' },
};
const NAMED: Failure = { ...accessTokenRejected(), headers: REFUSED.headers };
const BROKEN = failure('upstream_error');

it.each<readonly [string, Failure, boolean, Failure]>([
  ['names a rejected access token', REFUSED, true, NAMED],
  ['does not change another failure', BROKEN, true, BROKEN],
  ['does not change the failure of another login', REFUSED, false, REFUSED],
])('%s', async (_, failed, usesAccessToken, expected) => {
  expect(await shown(failed, usesAccessToken)).toEqual([ended(expected), ended(expected)]);
});
