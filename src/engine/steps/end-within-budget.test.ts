import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { endWithinBudget } from './end-within-budget.ts';

const exceeded = new ModelBudget(1).exceeded();
const message: Produced = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] };
const list: Produced = { kind: 'opaque', id: 'mcpl_1', raw: { type: 'mcp_list_tools' } };
const failedWith = (failed = exceeded): TurnEvent => ({
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failed },
  usage: null,
  at: 7,
});
const INCOMPLETE: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'incomplete', reason: 'max_model_requests' },
  usage: null,
  at: 7,
};
const said = (item: Produced): readonly TurnEvent[] => [
  { type: 'item-started', item },
  { type: 'item-ended', item },
];
const run = (events: AsyncIterable<TurnEvent>) =>
  collect(
    throughStep(
      endWithinBudget,
      { clock: { now: () => 7 } },
      planOf(() => events),
    ).run(new AbortController().signal),
  );

async function* thrown(events: readonly TurnEvent[]): AsyncGenerator<TurnEvent> {
  yield* events;
  throw new GatewayError(exceeded);
}

describe('endWithinBudget', () => {
  it('keeps what was produced before the budget was spent', async () => {
    expect(await run(emit([...said(message), failedWith()]))).toEqual([...said(message), INCOMPLETE]);
    expect(await run(thrown(said(message)))).toEqual([...said(message), INCOMPLETE]);
  });

  it('fails a turn that has produced nothing, or fails for another reason', async () => {
    expect(await run(emit([...said(list), failedWith()]))).toEqual([...said(list), failedWith()]);
    const other = failedWith(failure('upstream_error'));
    expect(await run(emit([...said(message), other]))).toEqual([...said(message), other]);
    await expect(run(thrown([]))).rejects.toMatchObject({ failure: exceeded });
  });
});
