import { describe, expect, it } from 'vitest';

import { END, messageTold } from '../../test/support/item-events.ts';
import { collect, emit } from '../../test/support/turn-events.ts';
import { RequestTrace } from '../canonical/context/request-trace.ts';
import { NO_TRACE } from '../canonical/context/trace.ts';
import { endOf } from '../canonical/events/accumulate.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Api, ParsedRequest } from './api.ts';
import { recordAnswer, recorderOf } from './record-answer.ts';
import type { FinishedTurn, TurnState } from './turn-state.ts';

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

it.each([
  ['stored', true, true, [{ name: 'store', facts: {} }]],
  [
    'not stored, though it should be',
    true,
    false,
    [{ name: 'store', facts: { error: 'store_unavailable' } }],
  ],
  ['for its connection only', false, true, []],
] as const)('measures the store for an answer that is %s', async (_, isKept, isStored, spans) => {
  const trace = new RequestTrace({ recorder: NO_TRACE, now: () => 0, distributed: null });
  const state = { isKept: () => isKept, record: async () => isStored } as unknown as TurnState;
  const parsed = { keeps: {}, meta: null, stream: true } as unknown as ParsedRequest;
  const how = { cacheKey: '', ids: { mint: () => '' }, signal: AbortSignal.abort(), trace };
  const record = recorderOf({} as Api, parsed, state, how);
  expect(await record?.([{ made: [], reply: { ...endOf(END), items: [] } }])).toBe(isStored);
  expect(trace.finish().spans).toMatchObject(spans);
});
