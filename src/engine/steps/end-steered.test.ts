import { describe, expect, it } from 'vitest';

import {
  ACCEPTED,
  callTold,
  END,
  messageStarted,
  messageTold,
  textDelta,
} from '../../../test/support/item-events.ts';
import { planOf } from '../../../test/support/plan.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { endSteered } from './end-steered.ts';

const { clock } = fixedAmbient();
const STEERED: TurnEvent = {
  ...END,
  outcome: { kind: 'incomplete', reason: 'steered' },
  isEndedHere: true,
  at: clock.now(),
};

/** Runs the step over these events; the client speaks after as many of them. */
const run = async (events: readonly TurnEvent[], after: number): Promise<readonly TurnEvent[]> => {
  let seen = 0;
  const source = async function* (): AsyncGenerator<TurnEvent> {
    for await (const event of emit(events)) {
      yield event;
      seen += 1;
    }
  };
  const plan = endSteered.wrap(() => planOf(source), { clock });
  const context = { ...turnContext(), isSteered: () => seen > after };
  return collect(plan(turnRequest(), context).run(new AbortController().signal));
};

describe('endSteered', () => {
  const [one, two] = [messageTold('m1', 'one'), messageTold('m2', 'two')];

  it('ends in place of the next item, and finishes the one that has begun', async () => {
    expect(await run([ACCEPTED, ...one, ...two, END], 1)).toEqual([ACCEPTED, ...one, STEERED]);
    expect(await run([ACCEPTED, ...one, ...two, END], 3)).toEqual([ACCEPTED, ...one, STEERED]);
  });

  it('lets the last item end its answer', async () => {
    const events = [ACCEPTED, ...one, END];
    expect(await run(events, 1)).toEqual(events);
  });

  it('leaves an answer with a call of the client to the model', async () => {
    const events = [ACCEPTED, ...callTold('c', '{}'), ...one, END];
    expect(await run(events, 1)).toEqual(events);
  });

  it('waits for items that overlap', async () => {
    const open = [ACCEPTED, messageStarted('m1'), ...two, textDelta('m1', 'one')];
    const events = [...open, ...one.slice(2), ...messageTold('m3', 'three'), END];
    expect(await run(events, 1)).toEqual([...open, ...one.slice(2), STEERED]);
  });

  it('does nothing for a request that cannot be steered', () => {
    const plan = planOf(() => emit([END]));
    expect(endSteered.wrap(() => plan, { clock })(turnRequest(), turnContext())).toBe(plan);
  });
});
