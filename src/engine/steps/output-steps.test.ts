import { describe, expect, it } from 'vitest';

import { planOf } from '../../../test/support/plan.ts';
import { END, messageTold } from '../../../test/support/item-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { PlanTurn } from '../engine.ts';
import { limitOutput, skipEmptyOutput } from './limit-output.ts';
import { withSteps } from './step.ts';
import { stopSequences } from './stop-sequences.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Tokenizer } from '../count-tokens.ts';

const characters: Tokenizer = {
  warmUp: () => {},
  count: async (text) => text.length,
  head: async (text, tokens) => text.slice(0, tokens),
};
const TURN: readonly TurnEvent[] = [...messageTold('m', 'one STOP two'), END];

const { clock } = fixedAmbient();

/** Planning with the steps that shorten the output, in their order. */
const shortening = (plan: PlanTurn): PlanTurn =>
  withSteps<{ readonly tokenizer: Tokenizer; readonly clock: Clock }>(
    [skipEmptyOutput, limitOutput, stopSequences],
    plan,
    { tokenizer: characters, clock },
  );

const run = async (different: Parameters<typeof turnRequest>[0]): Promise<readonly [string, string]> => {
  const plan = shortening(() => planOf(() => emit(TURN)))(turnRequest(different), turnContext());
  const events = await collect(plan.run(new AbortController().signal));
  const last = events.at(-1);
  const text = events.map((event) => (event.type === 'item-delta' ? event.delta : '')).join('');
  return [text, last?.type === 'turn-ended' ? last.outcome.kind : 'no end'];
};

describe('the steps that shorten the output', () => {
  it.each([
    ['nothing asked', {}, 'one STOP two', 'completed'],
    ['a limit', { maxOutputTokens: 3 }, 'one', 'incomplete'],
    ['a stop text', { stop: ['STOP'] }, 'one ', 'completed'],
    ['both, the limit first', { maxOutputTokens: 3, stop: ['STOP'] }, 'one', 'incomplete'],
    ['both, the stop text first', { maxOutputTokens: 6, stop: ['STOP'] }, 'one ', 'completed'],
  ])('%s', async (_, different, text, outcome) => {
    expect(await run(different)).toEqual([text, outcome]);
  });

  it('does not ask the model for zero tokens', async () => {
    const asking = planOf(
      () => {
        throw new Error('asked');
      },
      { ignored: ['truncation'] },
    );
    let settled = 0;
    const plan = shortening(() => asking)(turnRequest({ maxOutputTokens: 0 }), turnContext());
    expect(
      await collect(
        plan.run(new AbortController().signal, () => {
          settled += 1;
        }),
      ),
    ).toEqual([
      { type: 'turn-accepted', ignored: ['truncation'], limitsOutput: true, headers: {} },
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
        usage: null,
        isEndedHere: true,
        at: clock.now(),
      },
    ]);
    expect(settled).toBe(1);
  });

  it('passes on the events of the engine unchanged if there is nothing to do', () => {
    const plan = planOf(() => emit(TURN));
    expect(shortening(() => plan)(turnRequest(), turnContext())).toBe(plan);
  });

  it('removes what it does itself from the request, and passes on the ignored paths of the rest', async () => {
    const asked: TurnRequest[] = [];
    let settled = 0;
    const said = {
      ignored: ['truncation'],
      refused: [{ path: 'tools', kind: 'invalid_value', why: 'x' }],
    } as const;
    const shortened = shortening((request) => {
      asked.push(request);
      return planOf((_signal, onSettled) => {
        onSettled?.();
        return emit(TURN);
      }, said);
    });
    const plan = shortened(turnRequest({ stop: ['STOP'], maxOutputTokens: 9 }), turnContext());
    await collect(
      plan.run(new AbortController().signal, () => {
        settled += 1;
      }),
    );
    expect([asked, plan.ignored, plan.refused, settled]).toEqual([
      [turnRequest({ maxOutputTokens: 9 })],
      said.ignored,
      said.refused,
      1,
    ]);
  });
});
