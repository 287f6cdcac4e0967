import { describe, expect, it } from 'vitest';

import { engineOn } from '../../../test/support/engine.ts';
import { fakePool, never, type Behaviour, type FakePool } from '../../../test/support/fake-pool.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';

const fails =
  (codexErrorInfo: string): Behaviour =>
  (thread) =>
    thread.send('turn/completed', {
      turn: {
        id: 'turn',
        status: 'failed',
        error: { message: 'Account credentials changed during refresh.', codexErrorInfo },
      },
    });
const answers: Behaviour = (thread) => thread.answer('done');

const run = async ({ pool, calls, openLeases }: FakePool, wasRenewed: boolean) => {
  const engine = engineOn(pool, { wasRenewedSince: async () => wasRenewed });
  const last = (await collect(engine.plan(turnRequest(), turnContext()).run(never))).at(-1);
  return {
    outcome: last?.type === 'turn-ended' ? last.outcome.kind : null,
    attempts: calls.filter((call) => call === 'turn/start').length,
    openLeases: openLeases(),
  };
};

describe('a turn that fails early', () => {
  it.each(['unauthorized', 'other'])('is run again if its login was just renewed (%s)', async (info) => {
    expect(await run(fakePool([fails(info), fails(info), answers]), true)).toEqual({
      outcome: 'completed',
      attempts: 3,
      openLeases: 0,
    });
  });

  it('is not run again without end', async () => {
    expect(await run(fakePool([fails('unauthorized')]), true)).toEqual({
      outcome: 'failed',
      attempts: 3,
      openLeases: 0,
    });
  });

  it.each([
    ['the login was not renewed', 'unauthorized', false],
    ['the failure has nothing to do with a login', 'contextWindowExceeded', true],
  ])('is not run again if %s', async (_, info, wasRenewed) => {
    expect(await run(fakePool([fails(info), answers]), wasRenewed)).toEqual({
      outcome: 'failed',
      attempts: 1,
      openLeases: 0,
    });
  });
});
