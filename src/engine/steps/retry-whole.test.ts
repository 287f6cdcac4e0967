import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { turnsWhileReading } from '../../../test/support/turns-of-loop.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { retryWhole } from './retry-whole.ts';

const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
const said: TurnEvent = { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a' };
const lost: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failure('worker_lost') },
  usage: null,
  at: 1_800_000_000_000,
};
const done: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
};

/** `settled`: in which attempts the turn was said to be settled. */
const begin = (...attempts: readonly (readonly TurnEvent[])[]) => {
  let count = 0;
  const settled: number[] = [];
  const plan = throughStep(
    retryWhole,
    { isStream: false },
    planOf((_signal, onSettled) => {
      count += 1;
      onSettled?.();
      return emit(attempts[count - 1] ?? [lost]);
    }),
  );
  const events = plan.run(new AbortController().signal, () => void settled.push(count));
  return { events, settled, count: () => count };
};

const run = async (...attempts: readonly (readonly TurnEvent[])[]) => {
  const { events, settled, count } = begin(...attempts);
  return { events: await collect(events), count: count(), settled };
};

describe('retryWhole', () => {
  it('passes on a turn that ended', async () => {
    expect(await run([accepted, said, done])).toEqual({
      events: [accepted, said, done],
      count: 1,
      settled: [1],
    });
  });

  it('yields to other requests while it sends a long answer', async () => {
    const long = Array.from({ length: 2_000 }, () => said);
    expect(await turnsWhileReading(begin([accepted, ...long, done]).events)).toBeGreaterThan(10);
  });

  it('runs a turn again whose worker died, and sends only the last run', async () => {
    expect(await run([accepted, said, lost], [accepted, done])).toEqual({
      events: [accepted, done],
      count: 2,
      // A turn that is run again keeps its place.
      settled: [2],
    });
  });

  it('reports the second loss, and at once one before the turn was accepted', async () => {
    expect(await run([accepted, said, lost], [accepted, said, lost])).toEqual({
      events: [accepted, said, lost],
      count: 2,
      settled: [2],
    });
    expect(await run([lost])).toEqual({ events: [lost], count: 1, settled: [1] });
  });
});
