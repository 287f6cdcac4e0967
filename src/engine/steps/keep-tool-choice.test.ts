import { describe, expect, it } from 'vitest';

import { accepted, ended } from '../../../test/support/spent-turns.ts';
import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { ToolChoice, ToolRef } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { keepToolChoice } from './keep-tool-choice.ts';

const { clock } = fixedAmbient();
const item = (head: Produced, deltas: readonly TurnEvent[], whole: Produced): TurnEvent[] => [
  { type: 'item-started', item: head },
  ...deltas,
  { type: 'item-ended', item: whole },
];
const text = (words: string, kind: 'text' | 'refusal' = 'text'): TurnEvent[] => {
  const head: Produced = { kind: 'message', id: 'm', role: 'assistant', parts: [] };
  return item(head, [{ type: 'item-delta', itemId: 'm', at: kind, delta: words }], {
    ...head,
    parts: [{ kind, text: words }],
    status: 'completed',
  });
};
const call = (name: string): TurnEvent[] => {
  const head: Produced = { kind: 'tool-call', id: name, tool: 'function', callId: name, name, input: '' };
  return item(head, [{ type: 'item-delta', itemId: name, at: 'input', delta: '{}' }], {
    ...head,
    input: '{}',
    status: 'completed',
  });
};
const searched = item({ kind: 'hosted-call', id: 'ws', raw: { type: 'web_search_call' } }, [], {
  kind: 'hosted-call',
  id: 'ws',
  raw: { type: 'web_search_call' },
});

const approval: Produced = {
  kind: 'opaque',
  id: 'mcpr_1',
  raw: { type: 'mcp_approval_request', server_label: 'web', name: 'erase', arguments: '{}' },
};
const ASKS = [accepted, ...item(approval, [], approval), ended({ kind: 'tool-calls' }, 1)];
const mcp = (label: string): ToolRef => ({ kind: 'hosted', raw: { type: 'mcp', server_label: label } });

const TALK = [accepted, ...text('No.'), ended({ kind: 'completed' }, 1)];
const CALLS = (...names: readonly string[]): TurnEvent[] => [
  accepted,
  ...text('Let me see.'),
  ...names.flatMap(call),
  ended({ kind: 'tool-calls' }, 10),
];
const F: ToolRef = { kind: 'function', name: 'f' };

const keep = async (toolChoice: ToolChoice, ...attempts: readonly (readonly TurnEvent[])[]) => {
  const requests: TurnRequest[] = [];
  const settled: number[] = [];
  const plan = keepToolChoice.wrap(
    (request) =>
      planOf((_signal, onSettled) => {
        requests.push(request);
        onSettled?.();
        return emit(attempts[requests.length - 1] ?? []);
      }),
    { clock },
  )(turnRequest({ toolChoice }), turnContext());
  const events = await collect(
    plan.run(new AbortController().signal, () => void settled.push(requests.length)),
  );
  return { events, insisted: requests.map((request) => request.insists === true), settled };
};

const failedWith = (tokens: number): TurnEvent =>
  ended({ kind: 'failed', failure: failure('tool_choice_not_satisfied') }, tokens);

describe('keepToolChoice', () => {
  it.each<ToolChoice>([{ mode: 'auto' }, { mode: 'none' }, { mode: 'allowed', required: false, tools: [F] }])(
    'leaves a turn alone that need not call anything: %j',
    async (choice) => {
      expect(await keep(choice, TALK)).toEqual({ events: TALK, insisted: [false], settled: [1] });
    },
  );

  it.each<readonly [ToolChoice, TurnEvent[]]>([
    [{ mode: 'required' }, CALLS('g', 'f')],
    [{ mode: 'required' }, [accepted, ...searched, ...text('It rains.'), ended({ kind: 'completed' }, 1)]],
    [{ mode: 'required' }, ASKS],
    [{ mode: 'allowed', required: true, tools: [F, mcp('web')] }, ASKS],
    [{ mode: 'named', tool: F }, CALLS('f')],
    [{ mode: 'allowed', required: true, tools: [F, { kind: 'function', name: 'g' }] }, CALLS('g', 'f')],
    [
      { mode: 'named', tool: { kind: 'hosted', raw: { type: 'web_search_preview' } } },
      [accepted, ...searched, ended({ kind: 'completed' }, 1)],
    ],
  ])('passes on an answer with the call: %j', async (choice, events) => {
    expect(await keep(choice, events)).toEqual({ events, insisted: [false], settled: [1] });
  });

  it('runs a turn without the call again, sends only the last one, and adds up the usage', async () => {
    const [first, ...rest] = CALLS('f');
    expect(await keep({ mode: 'required' }, TALK, CALLS('f'))).toEqual({
      events: [first, ...rest.slice(0, -1), ended({ kind: 'tool-calls' }, 11)],
      insisted: [false, true],
      settled: [2],
    });
  });

  it('fails before anything is sent if the second turn has no call either', async () => {
    expect(await keep({ mode: 'named', tool: F }, TALK, CALLS('g'))).toEqual({
      events: [failedWith(11)],
      insisted: [false, true],
      settled: [],
    });
  });

  it('does not accept an approval request of another server', async () => {
    const choice: ToolChoice = { mode: 'allowed', required: true, tools: [F, mcp('other')] };
    expect(await keep(choice, ASKS, ASKS)).toMatchObject({ events: [failedWith(2)] });
  });

  it('drops calls of other tools', async () => {
    expect(await keep({ mode: 'named', tool: F }, CALLS('g', 'f', 'g'))).toMatchObject({
      events: CALLS('f'),
      insisted: [false],
    });
  });

  it.each<readonly [string, TurnEvent[]]>([
    ['was cut', [accepted, ...text('No'), ended({ kind: 'incomplete', reason: 'max_output_tokens' }, 1)]],
    ['failed', [ended({ kind: 'failed', failure: failure('upstream_error') }, 1)]],
    ['refuses', [accepted, ...text('I will not.', 'refusal'), ended({ kind: 'completed' }, 1)]],
  ])('passes on a turn that %s: asking again would not help', async (_, events) => {
    expect(await keep({ mode: 'required' }, events)).toEqual({ events, insisted: [false], settled: [1] });
  });

  it('waits while the model reasons at length, in small deltas', async () => {
    const head: Produced = { kind: 'reasoning', id: 'r', summary: [] };
    const at = { list: 'reasoning', index: 0 } as const;
    const pieces = Array.from({ length: 50_000 }, (): TurnEvent => ({
      type: 'item-delta',
      itemId: 'r',
      at,
      delta: 'so ',
    }));
    const [first = accepted, ...rest] = CALLS('f');
    const events = [first, ...item(head, pieces, head), ...rest];
    const { insisted } = await keep({ mode: 'required' }, events);
    expect(insisted).toEqual([false]);
  });

  it('gives up an attempt that writes too much', async () => {
    const endless = [accepted, ...Array.from({ length: 3 }, () => text('x'.repeat(8 * 1024 * 1024))).flat()];
    expect(await keep({ mode: 'required' }, endless, endless)).toMatchObject({
      events: [{ ...failedWith(0), usage: null }],
    });
  });

  it('sends each event at once when the call has begun', async () => {
    const seen: string[] = [];
    async function* source(): AsyncGenerator<TurnEvent> {
      for (const event of CALLS('f')) {
        seen.push(`made ${event.type}`);
        yield event;
      }
    }
    const required = { toolChoice: { mode: 'required' } } as const;
    const plan = throughStep(
      keepToolChoice,
      { clock },
      planOf(() => source()),
      required,
    );
    for await (const event of plan.run(new AbortController().signal)) seen.push(`told ${event.type}`);
    expect(seen.slice(-6)).toEqual([
      'made item-delta',
      'told item-delta',
      'made item-ended',
      'told item-ended',
      'made turn-ended',
      'told turn-ended',
    ]);
  });
});
