import { describe, expect, it } from 'vitest';

import {
  answer,
  bodyOf,
  call,
  decided,
  foreign,
  hold,
  metadata,
  NEVER,
  newTurn,
  open,
  output,
  placeholder,
  released,
} from '../../../../test/support/held.ts';
import { carriedInput } from '../request/carried-input.ts';
import type { HeldAdmission } from './held-turn.ts';

const said = { type: 'message', id: 'msg_1' };

/** A started turn, claimed by one whose answers are held back. */
const holding = () => {
  const { held } = hold();
  const relayTurn = newTurn({ holdsAnswers: true });
  held.started('turn-1');
  held.claim(relayTurn);
  return { held, relayTurn };
};

describe('a later model request of the turn', () => {
  it('may have its answers and outputs after the placeholder', async () => {
    const { held, relayTurn } = open();
    answer(relayTurn, call);
    relayTurn.begin();
    const body = bodyOf(placeholder, call, output);
    const admission = await held.admit(metadata(), body, NEVER);
    expect(admission).toEqual({
      relayTurn,
      model: { body, carried: carriedInput([placeholder, call, output], 'px_1') },
      added: 0,
      foreignTools: [],
      release: expect.any(Function),
    });
    released(admission);
    expect(await held.admit(metadata(), bodyOf(placeholder, call, output, foreign), NEVER)).toEqual({
      lost: 'foreign-item',
    });
  });

  it('waits until the answer before it has a reader and is complete', async () => {
    const { held, relayTurn } = open();
    await relayTurn.enter();
    relayTurn.onUpstreamEvent({ kind: 'answer-started' });
    const admission = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'left' });
    expect(await decided(admission)).toBe('waits');
    relayTurn.begin();
    expect(await admission).toMatchObject({ relayTurn });
  });

  it('waits until the one before it has failed', async () => {
    const { held, relayTurn } = open();
    const release = await relayTurn.enter();
    const admission = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    release();
    expect(await admission).toMatchObject({ relayTurn });
  });

  it.each([
    ['dropped', ({ held }: ReturnType<typeof open>) => held.drop()],
    ['cut', ({ relayTurn }: ReturnType<typeof open>) => relayTurn.cut()],
  ])('is rejected if the turn is %s while it waits', async (_, end) => {
    const one = open();
    await one.relayTurn.enter();
    one.relayTurn.onUpstreamEvent({ kind: 'answer-started' });
    const admission = one.held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    end(one);
    one.relayTurn.begin();
    one.relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'left' });
    expect(await admission).toBe('dropped');
  });

  it.each(['released', 'answered'])(
    'waits until the one before it is %s, one after the other',
    async (how) => {
      const { held, relayTurn } = open();
      relayTurn.begin();
      const over = (admission: HeldAdmission): void =>
        how === 'released' ? released(admission) : answer(relayTurn);
      const [first, ...others] = Array.from({ length: 3 }, () =>
        held.admit(metadata(), bodyOf(placeholder), NEVER),
      );
      let before = await first;
      for (const [at, next] of others.entries()) {
        for (const waiting of others.slice(at)) expect(await decided(waiting)).toBe('waits');
        if (before !== undefined) over(before);
        before = await next;
        expect(before).toMatchObject({ relayTurn });
      }
    },
  );

  it('waits in the order of arrival, also if none was claimed yet', async () => {
    const { held } = hold();
    held.started('turn-1');
    const bodies = [1, 2].map((nth) => ({ ...bodyOf(placeholder), nth }));
    const [first, second] = bodies.map((body) => held.admit(metadata(), body, NEVER));
    expect(await decided(first ?? Promise.reject(new Error('none')))).toBe('waits');
    held.claim(newTurn());
    const admission = await first;
    expect(admission).toMatchObject({ model: { body: bodies[0] } });
    expect(second === undefined ? null : await decided(second)).toBe('waits');
    if (admission !== undefined) released(admission);
    expect(await second).toMatchObject({ model: { body: bodies[1] } });
  });

  it('is given up if the app-server disconnects while it waits, and holds up no other', async () => {
    const { held, relayTurn } = open();
    const first = await held.admit(metadata(), bodyOf(placeholder), NEVER);
    const left = new AbortController();
    const second = held.admit(metadata(), bodyOf(placeholder), left.signal);
    const third = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(second)).toBe('waits');
    left.abort();
    released(first);
    expect(await second).toBe('dropped');
    expect(await third).toMatchObject({ relayTurn });
  });

  it('holds up no other if it is lost', async () => {
    const { held, relayTurn } = open();
    expect(await held.admit(metadata(), bodyOf(placeholder, foreign), NEVER)).toEqual({
      lost: 'foreign-item',
    });
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toMatchObject({ relayTurn });
  });

  it('may be released twice: the next one still waits for the one before it', async () => {
    const { held } = open();
    const first = await held.admit(metadata(), bodyOf(placeholder), NEVER);
    released(first);
    const second = await held.admit(metadata(), bodyOf(placeholder), NEVER);
    const third = held.admit(metadata(), bodyOf(placeholder), NEVER);
    released(first);
    expect(await decided(third)).toBe('waits');
    released(second);
    expect(await third).toHaveProperty('relayTurn');
  });
});

describe('a model request after the claim is over', () => {
  const ask = (held: ReturnType<typeof open>['held']) => held.admit(metadata(), bodyOf(placeholder), NEVER);

  it('waits for the next claim, and belongs to it', async () => {
    const { held, relayTurn } = holding();
    const first = await ask(held);
    answer(relayTurn, said);
    expect([relayTurn.letGo('asks-again'), held.isReady]).toEqual([true, false]);
    held.unclaim();
    released(first);
    const second = ask(held);
    expect([await decided(second), held.isReady]).toEqual(['waits', true]);
    const next = newTurn({ holdsAnswers: true });
    held.claim(next);
    expect(await second).toMatchObject({ relayTurn: next, added: 0 });
    expect([relayTurn.wasAsked, next.wasAsked, held.isReady]).toEqual([true, true, false]);
  });

  it('may contain nothing of an answer that the app-server was not to see', async () => {
    const { held, relayTurn } = holding();
    released(await ask(held));
    answer(relayTurn, call);
    relayTurn.letGo('asks-again');
    held.unclaim();
    held.claim(newTurn({ holdsAnswers: true }));
    expect(await held.admit(metadata(), bodyOf(placeholder, call, output), NEVER)).toEqual({
      lost: 'foreign-item',
    });
  });

  it('is for the next claim if the first was given up before it came', async () => {
    const { held, relayTurn } = holding();
    expect(relayTurn.letGo('asks-again')).toBe(true);
    held.unclaim();
    const admission = ask(held);
    const next = newTurn({ holdsAnswers: true });
    held.claim(next);
    expect(await admission).toMatchObject({ relayTurn: next });
    expect(relayTurn.wasAsked).toBe(false);
  });

  it('is rejected if the turn was dropped', async () => {
    const { held, relayTurn } = holding();
    released(await ask(held));
    relayTurn.letGo('asks-again');
    held.unclaim();
    const admission = ask(held);
    expect(await decided(admission)).toBe('waits');
    held.drop();
    expect([await admission, held.isReady]).toEqual(['dropped', false]);
  });
});

describe('a turn that needs nothing more', () => {
  it('aborts what still runs at the backend, and reads the rest of a complete answer', async () => {
    const cancelled = newTurn({ holdsAnswers: true });
    expect([cancelled.letGo('asks-again'), cancelled.signal.aborted]).toEqual([true, true]);
    const complete = newTurn({ holdsAnswers: true });
    answer(complete, said);
    expect([complete.letGo('asks-again'), complete.signal.aborted]).toEqual([true, false]);
  });

  it('is not let go if the app-server has to act on its answers', () => {
    expect([newTurn().letGo('asks-again'), newTurn().after]).toEqual([false, null]);
  });

  it('is not let go if the app-server has got any of it', () => {
    const relayTurn = newTurn({ holdsAnswers: true });
    relayTurn.passed(0);
    expect([relayTurn.letGo('asks-again'), relayTurn.after]).toEqual([false, null]);
  });

  it('completes only if the app-server waits for an answer', async () => {
    const relayTurn = newTurn({ holdsAnswers: true });
    expect(relayTurn.letGo('completes')).toBe(false);
    await relayTurn.enter();
    expect(relayTurn.letGo('completes')).toBe(true);
  });
});
