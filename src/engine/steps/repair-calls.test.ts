import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { accepted, ended } from '../../../test/support/spent-turns.ts';
import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { FunctionTool } from '../../canonical/request/tool.ts';
import type { Plan } from '../engine.ts';
import { repairCalls, type RepairRules } from './repair-calls.ts';

const CALLED: Outcome = { kind: 'tool-calls' };

const textHead = (id: string): Produced => ({ kind: 'message', id, role: 'assistant', parts: [] });
const said = (words: string, id = 'm'): Produced =>
  ({ ...textHead(id), parts: [{ kind: 'text', text: words }], status: 'completed' }) as Produced;
const text = (words: string, id = 'm'): TurnEvent[] => [
  { type: 'item-started', item: textHead(id) },
  { type: 'item-delta', itemId: id, at: 'text', delta: words },
  { type: 'item-ended', item: said(words, id) },
];
const reasoning: TurnEvent[] = [
  { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
  {
    type: 'item-ended',
    item: { kind: 'reasoning', id: 'r', summary: [], encryptedContent: 'e', status: 'completed' },
  },
];
const callHead = (name: string, id: string): Produced => ({
  kind: 'tool-call',
  id,
  tool: 'function',
  callId: `call_${id}`,
  name,
  input: '',
});
const called = (name: string, input: string, id = 'c'): Produced =>
  ({ ...callHead(name, id), input, status: 'completed' }) as Produced;
const call = (name: string, input: string, id = 'c'): TurnEvent[] => [
  { type: 'item-started', item: callHead(name, id) },
  { type: 'item-delta', itemId: id, at: 'input', delta: input },
  { type: 'item-ended', item: called(name, input, id) },
];

const BAD = [accepted, ...text('Let me see.'), ...call('f', 'bad'), ended(CALLED, 1)];
const GOOD = [accepted, ...text('Again.', 'm2'), ...call('f', 'good', 'c2'), ended(CALLED, 10)];

interface Given {
  readonly holds?: 'answer' | 'calls';
  readonly attempts?: number;
  readonly check?: RepairRules['check'];
}

const isGood: RepairRules['check'] = async (_tool, input) => (input === 'bad' ? 'it is bad' : null);

const run = async (
  { holds = 'answer', attempts = 1, check = isGood }: Given,
  ...answers: readonly (readonly TurnEvent[] | Error)[]
) => {
  const requests: TurnRequest[] = [];
  const results: string[] = [];
  let settled = 0;
  const plan = (request: TurnRequest) =>
    planOf((_signal, onSettled) => {
      requests.push(request);
      onSettled?.();
      const answer = answers[requests.length - 1] ?? [];
      if (answer instanceof Error) throw answer;
      return emit(answer);
    });
  const request = turnRequest({
    items: [],
    tools: [functionTool('f', { strict: true, parameters: { type: 'object' } }), functionTool('loose')],
  });
  const repair: RepairRules = {
    attempts,
    inStreams: true,
    check,
    onRepair: (result) => void results.push(result),
  };
  const repaired = repairCalls.wrap(plan, { repair, isStream: holds === 'calls' });
  const events = await collect(
    repaired(request, turnContext()).run(new AbortController().signal, () => {
      settled += 1;
    }),
  );
  return { events, sent: requests.map(({ items }) => items), results, settled };
};

const output = (text_: string, id = 'c') => ({
  kind: 'tool-output',
  tool: 'function',
  callId: `call_${id}`,
  output: text_,
});
const WRONG =
  'The arguments do not match the schema of "f": it is bad. The call was not made. Make it again with arguments that match.';

describe('repairCalls', () => {
  it('passes on valid calls, and checks only strict functions', async () => {
    const answer = [accepted, ...call('f', 'good'), ...call('loose', 'bad', 'c2'), ended(CALLED, 1)];
    for (const holds of ['answer', 'calls'] as const) {
      expect(await run({ holds }, answer)).toMatchObject({ events: answer, results: [], settled: 1 });
    }
  });

  it('does not change a request without strict functions, or without attempts', async () => {
    const plan = planOf(() => emit(BAD));
    const repair: RepairRules = { attempts: 1, inStreams: false, check: async () => 'x', onRepair() {} };
    const planned = (deps: Parameters<typeof repairCalls.wrap>[1], tool: FunctionTool): Plan =>
      throughStep(repairCalls, deps, plan, { tools: [tool] });
    const strict = functionTool('f', { strict: true, parameters: {} });
    expect(planned({ repair, isStream: false }, functionTool('loose'))).toBe(plan);
    expect(planned({ repair: { ...repair, attempts: 0 }, isStream: false }, strict)).toBe(plan);
    expect(planned({ repair, isStream: true }, strict)).toBe(plan);
    expect(planned({ repair, isStream: false }, strict)).not.toBe(plan);
  });

  it('sends the problem to the model, and only the last attempt to the client', async () => {
    const first = [
      accepted,
      ...reasoning,
      ...text('Let me see.'),
      ...call('f', 'bad'),
      ...call('loose', 'x', 'l'),
      ended(CALLED, 1),
    ];
    expect(await run({}, first, GOOD)).toEqual({
      events: [accepted, ...GOOD.slice(1, -1), ended(CALLED, 11)],
      sent: [
        [],
        [
          { kind: 'reasoning', id: 'r', summary: [], encryptedContent: 'e', status: 'completed' },
          said('Let me see.'),
          called('f', 'bad'),
          called('loose', 'x', 'l'),
          output(WRONG),
          output(
            'This call was not made, because another one in the same answer has invalid arguments.',
            'l',
          ),
        ],
      ],
      results: ['repaired'],
      settled: 1,
    });
  });

  it('passes on what the model does not repair', async () => {
    const { events, sent, results } = await run({ attempts: 2 }, BAD, BAD, BAD);
    expect([sent.length, results]).toEqual([3, ['passed_on']]);
    expect(events.map((event) => event.type)).toEqual(BAD.map((event) => event.type));
    expect(events.at(-1)).toEqual(ended(CALLED, 3));
  });

  it.each<readonly [string, readonly TurnEvent[] | Error]>([
    ['fails', [accepted, ended({ kind: 'failed', failure: failure('upstream_error') }, 10)]],
    ['cannot be started', gatewayError('worker_unavailable')],
    ['is cut', [accepted, ended({ kind: 'incomplete', reason: 'max_output_tokens' }, 10)]],
  ])('passes on the first if the second %s', async (_, second) => {
    const { events, results, settled } = await run({}, BAD, second);
    expect(events.slice(0, -1)).toEqual(BAD.slice(0, -1));
    expect(events.at(-1)).toEqual(ended(CALLED, second instanceof Error ? 1 : 11));
    expect([results, settled]).toEqual([['passed_on'], 1]);
  });

  it('in a stream sends what precedes the calls at once, and continues after it', async () => {
    const again = [accepted, ...text('Again.'), ...call('f', 'good', 'c2'), ended(CALLED, 10)];
    expect(await run({ holds: 'calls' }, BAD, again)).toMatchObject({
      events: [
        accepted,
        ...text('Let me see.'),
        ...text('Again.', 'm_2'),
        ...call('f', 'good', 'c2'),
        ended(CALLED, 11),
      ],
      results: ['repaired'],
    });
  });

  it('in a stream does not send the reasoning of a rejected call', async () => {
    const first = [accepted, ...reasoning, ...call('f', 'bad'), ended(CALLED, 1)];
    const { events } = await run({ holds: 'calls' }, first, GOOD);
    expect(events).toEqual([accepted, ...GOOD.slice(1, -1), ended(CALLED, 11)]);
    const spoken = [accepted, ...reasoning, ...text('Hello.'), ended({ kind: 'completed' }, 1)];
    expect((await run({ holds: 'calls' }, spoken)).events).toEqual(spoken);
  });

  it('in a stream sends reasoning to its end once its start was sent, also when the call after it is repaired', async () => {
    const [started, finished] = reasoning as [TurnEvent, TurnEvent];
    const [callStarted, ...callRest] = call('f', 'bad') as [TurnEvent, ...TurnEvent[]];
    const first = [accepted, started, ...text('Hm.'), callStarted, finished, ...callRest, ended(CALLED, 1)];
    const { events } = await run({ holds: 'calls' }, first, GOOD);
    expect(events).toEqual([
      accepted,
      started,
      ...text('Hm.'),
      finished,
      ...GOOD.slice(1, -1),
      ended(CALLED, 11),
    ]);
  });

  it('in a stream sends calls unchecked that are too long to be held', async () => {
    const long = [accepted, ...call('f', 'x'.repeat(2_000_000)), ...call('f', 'bad', 'c2'), ended(CALLED, 1)];
    expect(await run({ holds: 'calls' }, long, GOOD)).toMatchObject({ events: long, results: [] });
  });

  it('limits the time for checks, however many calls there are', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let checks = 0;
    const check: RepairRules['check'] = async () => {
      checks += 1;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return null;
    };
    const many = Array.from({ length: 50 }, (_, index) => call('f', 'x', `c${index}`)).flat();
    const running = run({ check }, [accepted, ...many, ended(CALLED, 1)]);
    await expect.poll(() => checks).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await running).events).toHaveLength(many.length + 2);
    expect(checks).toBeLessThan(8);
  });
});
