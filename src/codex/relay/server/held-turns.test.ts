import { describe, expect, it } from 'vitest';

import { PROVIDER, SHAPE } from '../../../../test/support/edited.ts';
import { turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import { Refusals } from '../../capabilities/refusals.ts';
import { HeldTurns, type HeldTurnHandle, type RelayTurnHandle } from './held-turns.ts';

const clock = { now: () => 0 };
const started = () => {
  const turns = new HeldTurns({
    clock,
    profile: PROVIDER,
    refusals: new Refusals(clock),
    affinity: { cacheKeys: 'any' },
    signIn: () => null,
  });
  const expectTurn = (threadId: string): HeldTurnHandle =>
    turns.expect({ threadId, slug: 'gpt-5.5', placeholder: 'px_1', isFirstOfThread: true, onLost() {} });
  return { turns, expectTurn };
};
const claim = (handle: HeldTurnHandle): RelayTurnHandle =>
  handle.claim({
    request: turnRequest(),
    context: turnContext(),
    session: 'session',
    shape: SHAPE,
    onUpstreamEvent() {},
    onActivity() {},
  });

describe('the turn of a thread', () => {
  it('is not known, expected, or has ended', () => {
    const { turns, expectTurn } = started();
    expect(turns.find('t1')).toBeNull();
    const handle = expectTurn('t1');
    expect(turns.find('t1')).toMatchObject({ expected: { threadId: 't1' } });
    handle.refuseFurtherRequests();
    expect([turns.find('t1'), turns.find('t2')]).toEqual(['ended', null]);
  });

  it('ends when its claim is closed', () => {
    const { turns, expectTurn } = started();
    const relayTurn = claim(expectTurn('t1'));
    expect(turns.find('t1')).not.toBe('ended');
    relayTurn.close();
    expect(turns.find('t1')).toBe('ended');
  });

  it('waits for another claim if it is let go, and ends if the app-server completes it', () => {
    const { turns, expectTurn } = started();
    const handle = expectTurn('t1');
    expect(claim(handle).letGo('asks-again')).toBe(true);
    expect(turns.find('t1')).not.toBe('ended');
    // Nothing waits for an answer: it cannot complete the turn.
    expect(claim(handle).letGo('completes')).toBe(false);
    expect(turns.find('t1')).not.toBe('ended');
  });

  it('is the newest one, which an earlier one does not end', () => {
    const { turns, expectTurn } = started();
    const first = expectTurn('t1');
    const relayTurn = claim(first);
    first.refuseFurtherRequests();
    expectTurn('t1');
    const second = turns.find('t1');
    relayTurn.close();
    first.refuseFurtherRequests();
    expect(second).toMatchObject({ expected: { threadId: 't1' } });
    expect(turns.find('t1')).toBe(second);
  });

  it('is forgotten after ten thousand others have ended', () => {
    const { turns, expectTurn } = started();
    for (let nth = 0; nth <= 10_000; nth += 1) expectTurn(`t${nth}`).refuseFurtherRequests();
    expect([turns.find('t0'), turns.find('t1'), turns.find('t10000')]).toEqual([null, 'ended', 'ended']);
  });
});
