import { describe, expect, it } from 'vitest';

import { planOf } from '../../../test/support/plan.ts';
import { accepted, ended } from '../../../test/support/spent-turns.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { withCompactionTrigger, summaryRequest } from '../../canonical/request/compaction.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item, Produced } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { Refusals } from '../../codex/capabilities/refusals.ts';
import type { CompactionSupport } from '../../codex/capabilities/compaction.ts';
import { compactConversations } from './compact-conversations.ts';

const item = (whole: Produced): TurnEvent[] => [
  { type: 'item-started', item: whole },
  { type: 'item-ended', item: whole },
];
const text = (words: string): TurnEvent[] =>
  item({ kind: 'message', id: 'm', role: 'assistant', parts: [{ kind: 'text', text: words }] });
const sealed = item({ kind: 'compaction', id: 'cmp_0', encryptedContent: 'sealed' });
const SEALED: Item = { kind: 'compaction', encryptedContent: 'of another' };
const TALK = [accepted, ...text('Tea.'), ended({ kind: 'completed' }, 1)];
const COMPACTED = [accepted, ...sealed, ended({ kind: 'completed' }, 10)];
const refused = (message: string): TurnEvent[] => [
  ended({ kind: 'failed', failure: failure('invalid_prompt', { message }) }, 0),
];

const open = (support: CompactionSupport, ...attempts: readonly (readonly TurnEvent[])[]) => {
  const requests: TurnRequest[] = [];
  const learnt: string[] = [];
  const { clock, ids } = fixedAmbient();
  const plan = compactConversations.wrap(
    (request) =>
      planOf((_signal, onSettled) => {
        requests.push(request);
        onSettled?.();
        return emit(attempts[requests.length - 1] ?? []);
      }),
    {
      compaction: support,
      refusals: new Refusals(clock),
      ids,
      onNoCompaction: (model) => void learnt.push(model),
    },
  );
  return {
    requests,
    learnt,
    plan: (request: TurnRequest) => plan(request, turnContext()),
    async run(request: TurnRequest) {
      const planned = plan(request, turnContext());
      const settled: number[] = [];
      const events = await collect(
        planned.run(new AbortController().signal, () => void settled.push(requests.length)),
      );
      return { events, settled, refused: planned.refused, ignored: planned.ignored };
    },
  };
};

const types = (events: readonly TurnEvent[]): readonly string[] => events.map(({ type }) => type);

describe('compactConversations', () => {
  it('does not change a turn that asks for no compaction', async () => {
    const { run, requests } = open('native', TALK);
    const request = turnRequest({ items: [SEALED] });
    expect(await run(request)).toEqual({ events: TALK, settled: [1], refused: [], ignored: [] });
    expect(requests).toEqual([request]);
  });

  it('sends only the compaction of the backend', async () => {
    const { run } = open('native', [accepted, ...text('Hm.'), ...sealed, ended({ kind: 'completed' }, 10)]);
    expect(await run(withCompactionTrigger(turnRequest({})))).toMatchObject({
      events: COMPACTED,
      settled: [1],
    });
  });

  it('makes a summary from the text of the model, without tools', async () => {
    const { run, requests } = open('unknown', TALK);
    const request = withCompactionTrigger(
      turnRequest({ tools: [functionTool('f')], toolChoice: { mode: 'required' } }),
    );
    const { events, ignored } = await run(request);
    expect(types(events)).toEqual(['turn-accepted', 'item-started', 'item-ended', 'turn-ended']);
    expect(events[2]).toMatchObject({ item: { kind: 'compaction', summary: 'Tea.' } });
    expect(events[0]).toMatchObject({ ignored: ['toolChoice'] });
    expect(ignored).toEqual(['toolChoice']);
    expect(requests[0]).toMatchObject({ tools: [], toolChoice: { mode: 'auto' } });
    expect(requests[0]?.items).toEqual([...request.items.slice(0, -1), summaryRequest()]);
  });

  it.each([
    ['refuses the trigger', refused("Invalid value: 'compaction_trigger'.")],
    ['has none for the model', refused('Compaction is not supported with this model.')],
    ['overlooks the trigger', TALK],
  ])('makes a summary if the backend %s, and keeps the slot of the turn until then', async (_, first) => {
    const { run, plan, learnt, requests } = open('native', first, TALK, TALK);
    const request = withCompactionTrigger(turnRequest({}));
    const { events, settled } = await run(request);
    expect(events[2]).toMatchObject({ item: { kind: 'compaction', summary: 'Tea.' } });
    expect(settled).toEqual([2]);
    expect(learnt).toEqual([request.model]);
    await run(request);
    expect(requests).toHaveLength(3);
    // What was sealed before is left to the backend.
    expect(plan(turnRequest({ items: [SEALED] })).refused).toEqual([]);
  });

  it.each([
    ['the conversation is too long', refused('Your input exceeds the context window.'), {}],
    ['there is something sealed in it', refused("Invalid value: 'compaction_trigger'."), { items: [SEALED] }],
  ])('passes on a rejection if %s', async (_, first, different) => {
    const { run, learnt } = open('native', first, TALK);
    expect(await run(withCompactionTrigger(turnRequest(different)))).toMatchObject({
      events: first,
      settled: [1],
    });
    expect(learnt).toEqual([]);
  });

  it('fails if the backend makes no compaction and a summary is not possible', async () => {
    const { run } = open('native', TALK);
    const { events } = await run(withCompactionTrigger(turnRequest({ items: [SEALED] })));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: 'failed', failure: { kind: 'upstream_error' } } });
  });

  it('rejects encrypted compactions that the backend cannot read', async () => {
    const { run } = open('none', TALK, TALK);
    for (const request of [
      turnRequest({ items: [SEALED] }),
      withCompactionTrigger(turnRequest({ items: [SEALED] })),
    ]) {
      expect(await run(request)).toMatchObject({
        refused: [{ path: { item: 0 }, kind: 'unsupported_value' }],
      });
    }
  });
});
