import { describe, expect, it } from 'vitest';

import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool, ToolChoice } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { checkGrammar } from '../../../test/support/grammar.ts';
import { planOf } from '../../../test/support/plan.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import type { Engine, Plan } from '../engine.ts';
import { toolsInProse, type ProseEngineOptions } from './prose-engine.ts';
import { writeCall } from './written-call.ts';

const usage = {
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  totalTokens: 3,
};
const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };

/** A whole answer; all have the same id. */
const says = (text: string): readonly TurnEvent[] => {
  const head = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] } as const;
  return [
    accepted,
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: 'msg_1', at: 'text', delta: text },
    { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text }], status: 'completed' } },
    { type: 'turn-ended', outcome: { kind: 'completed' }, usage, at: 1 },
  ];
};

interface Behind {
  readonly engine: Engine;
  readonly planned: TurnRequest[];
  readonly run: TurnRequest[];
  readonly anomalies: string[];
}

/** Answers one after the other; the last one again and again. */
const engineWith = (
  answers: readonly (readonly TurnEvent[] | Error)[],
  said: Partial<Plan> = {},
  instructionsTarget: 'base' | 'developer' = 'base',
): Behind => {
  const planned: TurnRequest[] = [];
  const run: TurnRequest[] = [];
  const anomalies: string[] = [];
  const inner: Engine = {
    plan(request) {
      planned.push(request);
      return planOf((_, onSettled) => {
        run.push(request);
        const answer = answers[Math.min(run.length, answers.length) - 1] ?? [];
        onSettled?.();
        if (answer instanceof Error) throw answer;
        return emit(answer);
      }, said);
    },
  };
  const prose: ProseEngineOptions = {
    isProse: (model) => model !== 'native',
    guide: { guide: async (schemas) => schemas.map(() => null) },
    instructionsTarget,
    ambient: fixedAmbient(),
    onAnomaly: (anomaly) => anomalies.push(anomaly),
  };
  const engine = { plan: toolsInProse.wrap(inner.plan, { prose }) };
  return { engine, planned, run, anomalies };
};

const never = new AbortController().signal;
const F = functionTool('f');
const SEARCH: Tool = { kind: 'hosted', raw: { type: 'web_search' } };
const REFUSED = { path: { tool: 0 }, kind: 'unsupported_tool', why: 'x' } as const;
const call: Item = { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}' };
const output: Item = { kind: 'tool-output', tool: 'function', callId: 'c', output: 'ok' };
const runAll = async ({ engine }: Behind, request: TurnRequest): Promise<readonly TurnEvent[]> => {
  const events = await collect(engine.plan(request, turnContext()).run(never));
  expect(checkGrammar(events)).toEqual([]);
  return events;
};
const textsIn = (request: TurnRequest | undefined): readonly string[] =>
  (request?.items ?? []).flatMap((item) =>
    item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : part.kind)) : [],
  );

describe('a request in prose', () => {
  it('is unchanged for other models, and without tools and calls', () => {
    const { engine, planned } = engineWith([]);
    const others = [
      turnRequest({ model: 'native', tools: [F] }),
      turnRequest(),
      turnRequest({ tools: [SEARCH] }),
    ];
    for (const request of others) engine.plan(request, turnContext());
    expect(planned).toEqual(others);
  });

  it('declares only the tools of the backend', async () => {
    const all = engineWith([says('x')]);
    await runAll(
      all,
      turnRequest({ tools: [F, SEARCH], parallelToolCalls: false, instructions: 'Be brief.' }),
    );
    const [asked] = all.run;
    expect(asked).toMatchObject({
      tools: [SEARCH],
      toolChoice: { mode: 'auto' },
      parallelToolCalls: null,
      instructions: 'Be brief.',
    });
    expect(textsIn(asked)).toEqual([expect.stringMatching(/^Tool calling instructions:\n/), 'hi']);
  });

  it.each<readonly [ToolChoice, ToolChoice]>([
    [{ mode: 'required' }, { mode: 'auto' }],
    [{ mode: 'none' }, { mode: 'none' }],
    [{ mode: 'named', tool: { kind: 'function', name: 'f' } }, { mode: 'none' }],
    [
      { mode: 'named', tool: { kind: 'hosted', raw: { type: 'web_search' } } },
      { mode: 'named', tool: { kind: 'hosted', raw: { type: 'web_search' } } },
    ],
    [
      {
        mode: 'allowed',
        required: true,
        tools: [
          { kind: 'function', name: 'f' },
          { kind: 'hosted', raw: { type: 'web_search' } },
        ],
      },
      { mode: 'allowed', required: false, tools: [{ kind: 'hosted', raw: { type: 'web_search' } }] },
    ],
    [{ mode: 'allowed', required: false, tools: [{ kind: 'function', name: 'f' }] }, { mode: 'none' }],
  ])('of the choice %j says %j to the backend', async (toolChoice, expected) => {
    const all = engineWith([says('x')]);
    await runAll(all, turnRequest({ tools: [F, SEARCH], toolChoice }));
    expect(all.run[0]?.toolChoice).toEqual(expected);
  });

  it('ends with the forced call if the model ignored it', async () => {
    const toolChoice: ToolChoice = { mode: 'named', tool: { kind: 'function', name: 'f' } };
    const all = engineWith([says('x')]);
    await runAll(all, turnRequest({ tools: [F, SEARCH], toolChoice, insists: true }));
    expect(textsIn(all.run[0]).slice(1)).toEqual([
      'hi',
      'Answer this turn by calling the tool "f". Call no other tool, and do not answer in text only.',
    ]);
    expect(all.run[0]?.items.at(-1)).toMatchObject({ role: 'developer' });
  });

  it('does not repeat a choice of declared tools', async () => {
    const tools = [{ kind: 'hosted', raw: { type: 'web_search' } } as const];
    const toolChoice: ToolChoice = { mode: 'allowed', required: true, tools };
    const all = engineWith([says('x')]);
    await runAll(all, turnRequest({ tools: [F, SEARCH], items: [call, output], toolChoice, insists: true }));
    expect(all.run[0]).toMatchObject({ toolChoice, insists: true });
    expect(textsIn(all.run[0])).toHaveLength(2);
  });

  it('describes tools loaded in the conversation, without the search for them', async () => {
    const raw = { type: 'tool_search_output', call_id: 's' };
    const items: readonly Item[] = [
      { kind: 'hosted-call', raw: { type: 'tool_search_call', call_id: 's' } },
      { kind: 'loaded-tools', raw, tools: [functionTool('found'), SEARCH] },
      output,
    ];
    const all = engineWith([says(writeCall({ name: 'found', input: '{}' }))]);
    const events = await runAll(all, turnRequest({ tools: [F], items }));
    expect(all.run[0]).toMatchObject({ tools: [SEARCH], items: [{ role: 'developer' }, { role: 'user' }] });
    expect(textsIn(all.run[0])[0]).toContain('- found: ');
    expect(events.at(-1)).toMatchObject({ outcome: { kind: 'tool-calls' } });
    const plan = engineWith([], { ignored: [{ item: 1 }], refused: [REFUSED] }).engine.plan(
      turnRequest({ tools: [F], items }),
      turnContext(),
    );
    expect([plan.ignored, plan.refused]).toEqual([[{ item: 2 }], [{ ...REFUSED, path: 'items' }]]);
  });

  it('puts instructions after its own if all become one text', async () => {
    const all = engineWith([says('x')], {}, 'developer');
    await runAll(all, turnRequest({ tools: [F], instructions: 'Be brief.' }));
    expect(all.run[0]?.instructions).toBeNull();
    expect(textsIn(all.run[0]).slice(1)).toEqual(['Be brief.', 'hi']);
  });

  it('is planned without its texts, and the paths of the plan are those of the client', () => {
    const all = engineWith([], {
      ignored: [{ item: 0 }, { item: 1 }, { item: 2 }, 'verbosity'],
      refused: [REFUSED],
    });
    const plan = all.engine.plan(turnRequest({ tools: [F, SEARCH], items: [call, output] }), turnContext());
    expect([plan.ignored, plan.refused]).toEqual([
      [{ item: 0 }, { item: 1 }, 'verbosity'],
      [{ ...REFUSED, path: { tool: 1 } }],
    ]);
    expect(textsIn(all.planned[0])).toEqual(['']);
  });

  it('rewrites calls in the history even if there are no tools', async () => {
    const all = engineWith([says('x')]);
    await runAll(all, turnRequest({ items: [call, output] }));
    expect(textsIn(all.run[0])).toEqual([
      writeCall({ name: 'f', input: '{}' }),
      '<tool_result name="f" call_id="c">ok</tool_result>',
    ]);
  });
});

describe('an answer in prose', () => {
  const CALL = writeCall({ name: 'f', input: '{}' });
  const ODD = writeCall({ name: 'shell', input: '{}' });
  const outcomeOf = (events: readonly TurnEvent[]): unknown => {
    const last = events.at(-1);
    return last?.type === 'turn-ended' ? [last.outcome, last.usage?.totalTokens] : null;
  };

  it('has calls, unless none may be called', async () => {
    expect(outcomeOf(await runAll(engineWith([says(CALL)]), turnRequest({ tools: [F] })))).toEqual([
      { kind: 'tool-calls' },
      3,
    ]);
    const none = turnRequest({ tools: [F], toolChoice: { mode: 'none' } });
    const events = await runAll(engineWith([says(CALL)]), none);
    expect(events.slice(0, -1)).toEqual(says(CALL).slice(0, -1));
  });

  it('hides a call of an unknown tool next to a known one', async () => {
    const all = engineWith([says(`${ODD}${CALL}`)]);
    expect(outcomeOf(await runAll(all, turnRequest({ tools: [F] })))).toEqual([{ kind: 'tool-calls' }, 3]);
    expect([all.run.length, all.anomalies]).toEqual([1, ['undeclared-call']]);
  });

  it('is requested again if all calls are of unknown tools, and continues', async () => {
    const all = engineWith([says(`a ${ODD}`), says('b')]);
    const events = await runAll(all, turnRequest({ tools: [F] }));
    expect(events.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []))).toEqual([
      'a ',
      'b',
    ]);
    expect(outcomeOf(events)).toEqual([{ kind: 'completed' }, 6]);
    expect(textsIn(all.run[1]).slice(2)).toEqual([
      `a ${ODD}`,
      expect.stringContaining('Error: there is no tool named "shell". The tools are: f.'),
    ]);
  });

  it('fails when that does not help, and when the second one fails', async () => {
    const stubborn = engineWith([says(ODD)]);
    expect(outcomeOf(await runAll(stubborn, turnRequest({ tools: [F] })))).toEqual([
      { kind: 'failed', failure: expect.objectContaining({ kind: 'upstream_error' }) as unknown },
      12,
    ]);
    expect(stubborn.run).toHaveLength(4);
    const broken = engineWith([says(ODD), gatewayError('server_overloaded')]);
    expect(outcomeOf(await runAll(broken, turnRequest({ tools: [F] })))).toEqual([
      { kind: 'failed', failure: failure('server_overloaded') },
      undefined,
    ]);
  });

  it('throws if it cannot start, and does not start after an abort', async () => {
    const request = turnRequest({ tools: [F] });
    await expect(runAll(engineWith([gatewayError('server_overloaded')]), request)).rejects.toMatchObject({
      failure: { kind: 'server_overloaded' },
    });
    const all = engineWith([says('x')]);
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(collect(all.engine.plan(request, turnContext()).run(gone))).rejects.toThrow('gone');
    expect(all.run).toEqual([]);
  });

  it('is settled once, when no further one is requested', async () => {
    const all = engineWith([says(ODD), says('b')]);
    const seen: (number | string)[] = [];
    const plan = all.engine.plan(turnRequest({ tools: [F] }), turnContext());
    for await (const event of plan.run(never, () => seen.push(all.run.length))) seen.push(event.type);
    expect(seen).toEqual(['turn-accepted', 'item-started', 'item-delta', 'item-ended', 2, 'turn-ended']);
  });
});
