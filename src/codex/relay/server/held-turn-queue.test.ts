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
