import { describe, expect, it } from 'vitest';

import { END, messageTold } from '../../test/support/item-events.ts';
import { collect, emit } from '../../test/support/turn-events.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { recordAnswer } from './record-answer.ts';
import type { FinishedTurn } from './turn-state.ts';

const same = (events: AsyncIterable<TurnEvent>): AsyncIterable<TurnEvent> => events;
const told = [...messageTold('msg_1', 'hi'), END];

describe('recordAnswer', () => {
  it('records the items before the client sees the end', async () => {
    const seen: unknown[] = [];
    const [events] = recordAnswer([emit(told)], {
      arrange: same,
      async record([{ made, reply }]) {
        seen.push([made.map(({ id }) => id), reply.items.map(({ id }) => id), reply.outcome.kind]);
        return true;
      },
    });
    for await (const { type } of events) seen.push(type);
    expect(seen).toEqual([
      'item-started',
      'item-delta',
      'item-ended',
      [['msg_1'], ['msg_1'], END.outcome.kind],
      'turn-ended',
    ]);
  });

  it('lets what was shown be written before it records', async () => {
    const order: string[] = [];
    const [events] = recordAnswer([emit(told)], {
      arrange: same,
      async record() {
        order.push('recorded');
        return true;
      },
    });
    for await (const { type } of events) setImmediate(() => order.push(`${type} written`));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(order).toEqual([
      'item-started written',
      'item-delta written',
      'item-ended written',
      'recorded',
      'turn-ended written',
    ]);
  });

  it('records what the model wrote and what the client sees', async () => {
    const recorded: FinishedTurn[] = [];
    async function* renamed(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
      for await (const event of events) {
        yield 'item' in event ? { ...event, item: { ...event.item, id: 'msg_2' } } : event;
      }
    }
    const [events] = recordAnswer([emit(told)], {
      arrange: renamed,
      async record([turn]) {
        recorded.push(turn);
        return true;
      },
    });
    await collect(events);
    expect(recorded.map(({ made, reply }) => [made[0]?.id, reply.items[0]?.id])).toEqual([
      ['msg_1', 'msg_2'],
    ]);
  });

  it('marks an answer that could not be stored', async () => {
    const [events] = recordAnswer([emit([END])], { arrange: same, record: async () => false });
    expect(await collect(events)).toEqual([{ ...END, isUnstored: true }]);
  });

  it('fails an answer whose conversation would go on without it', async () => {
    const [events] = recordAnswer([emit([END])], {
      arrange: same,
      record: async () => {
        throw gatewayError('store_unavailable');
      },
    });
    expect(await collect(events)).toMatchObject([
      { type: 'turn-ended', outcome: { kind: 'failed', failure: { code: 'store_unavailable' } } },
    ]);
  });

  it('records several turns once, when the last has ended', async () => {
    let times = 0;
    const turns = recordAnswer([emit(told), emit(told)], {
      arrange: same,
      async record(all) {
        times += all.length;
        return true;
      },
    });
    const [first] = turns;
    await collect(first);
    expect(times).toBe(0);
    await Promise.all(turns.slice(1).map((turn) => collect(turn)));
    expect(times).toBe(2);
  });
});
