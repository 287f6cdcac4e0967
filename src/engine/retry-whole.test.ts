import { describe, expect, it } from 'vitest';

import { collect, emit } from '../../test/support/turn-events.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { failure } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
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

const run = async (...attempts: readonly (readonly TurnEvent[])[]) => {
  let count = 0;
  const engine = retryWhole({
    unheard: () => [],
    run() {
      count += 1;
      return emit(attempts[count - 1] ?? [lost]);
    },
  });
  return { events: await collect(engine.run(turnRequest(), new AbortController().signal)), count };
};

describe('retryWhole', () => {
  it('hands on a turn that came to an end', async () => {
    expect(await run([accepted, said, done])).toEqual({ events: [accepted, said, done], count: 1 });
  });

  it('runs a turn again whose worker died, and tells only of the last run', async () => {
    expect(await run([accepted, said, lost], [accepted, done])).toEqual({
      events: [accepted, done],
      count: 2,
    });
  });

  it('tells of the loss in the end, and at once of one that the engine could not mend', async () => {
    expect(await run([accepted, said, lost], [accepted, said, lost])).toEqual({
      events: [accepted, said, lost],
      count: 2,
    });
    expect(await run([lost])).toEqual({ events: [lost], count: 1 });
  });
});
