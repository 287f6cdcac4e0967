import { describe, expect, it } from 'vitest';

import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { failure } from '../failure/failure.ts';
import type { TurnEvent } from './turn-event.ts';
import { wellFormed } from './well-formed.ts';

const { clock } = fixedAmbient();
const head = { kind: 'message', id: 'm', role: 'assistant', parts: [] } as const;
const started: TurnEvent = { type: 'item-started', item: head };
const said: TurnEvent = { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a' };
const ended = (status: 'completed' | 'incomplete'): TurnEvent => ({
  type: 'item-ended',
  item: { ...head, parts: [{ kind: 'text', text: 'a' }], status },
});
const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 7 };
const failed: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failure('server_error') },
  usage: null,
  at: clock.now(),
};

describe('wellFormed', () => {
  it('ends open items before the end of the turn, with a status that matches the outcome', async () => {
    expect(await collect(wellFormed(emit([started, said, end]), { clock }))).toEqual([
      started,
      said,
      ended('completed'),
      end,
    ]);
    expect(await collect(wellFormed(emit([started, said, failed]), { clock }))).toEqual([
      started,
      said,
      ended('incomplete'),
      failed,
    ]);
  });

  it('drops events after the end and closes the source', async () => {
    let isLeft = false;
    async function* source(): AsyncGenerator<TurnEvent> {
      try {
        yield* [end, started, end];
      } finally {
        isLeft = true;
      }
    }
    expect(await collect(wellFormed(source(), { clock }))).toEqual([end]);
    expect(isLeft).toBe(true);
  });

  it('fails the turn if the source ends without turn-ended', async () => {
    expect(await collect(wellFormed(emit([started, said]), { clock }))).toEqual([
      started,
      said,
      ended('incomplete'),
      failed,
    ]);
  });

  async function* breaking(...events: readonly TurnEvent[]): AsyncGenerator<TurnEvent> {
    try {
      yield* events;
      throw new Error('broken');
    } finally {
      if (events.length === 1) await Promise.reject(new Error('broken at the end'));
    }
  }

  it('maps an error of the source to an outcome, or rethrows it', async () => {
    const onThrow = () => ({ kind: 'incomplete', reason: 'content_filter' }) as const;
    expect((await collect(wellFormed(breaking(started, said), { clock, onThrow }))).slice(2)).toEqual([
      ended('incomplete'),
      { type: 'turn-ended', outcome: onThrow(), usage: null, at: clock.now() },
    ]);
    await expect(collect(wellFormed(breaking(started, said), { clock }))).rejects.toThrow('broken');
  });

  it('ignores an error of the source after its end', async () => {
    const onThrow = () => ({ kind: 'incomplete', reason: 'content_filter' }) as const;
    expect(await collect(wellFormed(breaking(end), { clock, onThrow }))).toEqual([end]);
  });
});
