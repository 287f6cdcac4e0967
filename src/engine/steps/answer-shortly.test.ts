import { describe, expect, it } from 'vitest';

import { checkGrammar } from '../../../test/support/grammar.ts';
import { planOf, throughStep } from '../../../test/support/plan.ts';
import { messageTold } from '../../../test/support/item-events.ts';
import { turnRequest } from '../../../test/support/turn-request.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { knownModel } from '../../../test/support/models.ts';
import { failure, gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import type { Plan } from '../engine.ts';
import { shortModelOf, answerShortly, type ShortOptions } from './answer-shortly.ts';

const USAGE = {
  inputTokens: 5,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 3,
  reasoningTokens: 1,
  totalTokens: 8,
};

const accepted: TurnEvent = {
  type: 'turn-accepted',
  ignored: ['user'],
  limitsOutput: false,
  headers: { a: 'b' },
};
const ended = (outcome: Outcome = { kind: 'completed' }): TurnEvent => ({
  type: 'turn-ended',
  outcome,
  usage: USAGE,
  at: 1_800_000_000_000,
});
const says = (text: string, id = 'msg_1'): readonly TurnEvent[] => messageTold(id, text);
const thinks: readonly TurnEvent[] = [
  { type: 'item-started', item: { kind: 'reasoning', id: 'rs', summary: [] } },
  { type: 'item-ended', item: { kind: 'reasoning', id: 'rs', summary: [], status: 'completed' } },
];
const failed = (param: string | null = null): TurnEvent =>
  ended({ kind: 'failed', failure: failure('invalid_value', { param }) });

const ORDINARY = [accepted, ...says('ordinary'), ended()];

interface Seen {
  readonly events: readonly TurnEvent[];
  readonly text: string;
  readonly asked: readonly TurnRequest[];
  /** The reported results of the short turn, and which turns were settled. */
  readonly results: readonly unknown[];
  readonly settled: readonly string[];
}

const run = async (
  shorts: readonly (readonly TurnEvent[] | Plan)[],
  different: Partial<TurnRequest> = {},
  options: Partial<ShortOptions> = {},
  signal = new AbortController().signal,
): Promise<Seen> => {
  const asked: TurnRequest[] = [];
  const results: unknown[] = [];
  const settled: string[] = [];
  const turn =
    (events: readonly TurnEvent[]): Plan['run'] =>
    (_, onSettled) => {
      onSettled?.();
      return emit(events);
    };
  const short: ShortOptions = {
    model: 'small',
    efforts: ['low', null],
    serviceTier: null,
    plan(request) {
      const next = shorts[asked.push(request) - 1] ?? [];
      return 'run' in next ? next : planOf(turn(next));
    },
    clean: (text) => (text === '' ? null : text.toUpperCase()),
    limitMs: 60_000,
    onResult: (result, why) =>
      results.push(why instanceof GatewayError ? [result, why.failure.kind] : result),
    prepare: async (request) => request,
    ...options,
  };
  const plan = throughStep(answerShortly, { short }, planOf(turn(ORDINARY)), different);
  const events = await collect(plan.run(signal, () => void settled.push(`${asked.length}`)));
  const text = events.map((event) => (event.type === 'item-delta' ? event.delta : '')).join('');
  return { events, text, asked, results, settled };
};

const throws = (error: Error): Plan =>
  planOf(() => {
    throw error;
  });

describe('answerShortly', () => {
  it('sends what another model wrote, cleaned, with its usage and headers', async () => {
    const { events, asked, results, settled } = await run([
      [accepted, ...thinks, ...says('a '), ...says('title', 'msg_2'), ended()],
    ]);
    expect(events).toEqual([{ ...accepted, servedModel: 'small' }, ...says('A TITLE'), ended()]);
    expect(checkGrammar(events)).toEqual([]);
    expect([results, settled]).toEqual([['answered'], ['1']]);
    expect(asked).toEqual([
      turnRequest({ model: 'small', reasoning: { effort: 'low', summary: null, context: null } }),
    ]);
  });

  it('names no other model if the requested one is the smallest', async () => {
    const { events } = await run([[accepted, ...says('x'), ended()]], { model: 'small' });
    expect(events[0]).toEqual(accepted);
  });

  it('reports the ignored parts of the request', async () => {
    const request: Partial<TurnRequest> = {
      reasoning: { effort: 'high', summary: 'auto', context: null },
      items: [
        {
          kind: 'message',
          role: 'user',
          parts: [
            { kind: 'text', text: 'hi' },
            { kind: 'image', url: 'https://example.com/a.png' },
          ],
        },
      ],
    };
    const { events, asked } = await run([[accepted, ...says('x'), ended()]], request);
    expect(events[0]).toEqual({
      ...accepted,
      servedModel: 'small',
      ignored: [
        'user',
        'reasoning.effort',
        'reasoning.summary',
        { file: { item: 0, of: 'content', part: 1 } },
      ],
    });
    expect(asked[0]?.items).toEqual([
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'hi' },
          { kind: 'text', text: '[image]' },
        ],
      },
    ]);
  });

  it('asks again without an effort if that was rejected', async () => {
    const refused = gatewayError('unsupported_parameter', { param: 'reasoning.effort' });
    for (const first of [[failed('reasoning.effort')], throws(refused)]) {
      const { text, asked, results } = await run([first, [accepted, ...says('x'), ended()]]);
      expect([text, asked.map(({ reasoning }) => reasoning.effort), results]).toEqual([
        'X',
        ['low', null],
        ['answered'],
      ]);
    }
  });

  const cut: TurnEvent = ended({ kind: 'incomplete', reason: 'max_output_tokens' });
  const notToBeRun = planOf(() => emit([]), { refused: [{ path: 'model', kind: 'invalid_value', why: '' }] });

  it.each<readonly [string, readonly TurnEvent[] | Plan, string | readonly string[]]>([
    ['it fails', [failed()], ['failed', 'invalid_value']],
    ['it fails in its middle', [accepted, ...says('x'), failed()], ['failed', 'invalid_value']],
    ['it is cut', [accepted, ...says('x'), cut], 'failed'],
    ['it throws', throws(gatewayError('rate_limit_exceeded')), ['failed', 'rate_limit_exceeded']],
    ['it breaks', throws(new TypeError('a bug')), 'failed'],
    ['it ends without text', [], 'failed'],
    ['its text is of no use', [accepted, ...says(''), ended()], 'unusable'],
    ['it is not to be run', notToBeRun, 'refused'],
  ])('the ordinary turn follows if %s', async (_, short, result) => {
    const { events, results, settled } = await run([short]);
    expect([events, results]).toEqual([ORDINARY, [result]]);
    // The place is given back once, by the turn that runs last.
    expect(settled).toHaveLength(1);
  });

  it('a strict caller gets the ordinary turn if the short one ignores part of the request', async () => {
    const high = await run([], {
      isStrict: true,
      reasoning: { effort: 'high', summary: null, context: null },
    });
    const later = await run([[accepted, ...says('x'), ended()]], { isStrict: true });
    expect([high.events, high.results, later.events, later.results]).toEqual([
      ORDINARY,
      ['refused'],
      ORDINARY,
      ['refused'],
    ]);
  });

  it('a turn that writes too much is left', async () => {
    let isLeft = false;
    const endless = planOf(async function* () {
      try {
        yield accepted;
        for (;;) yield { type: 'item-delta', itemId: 'm', at: 'text', delta: 'word '.repeat(100) } as const;
      } finally {
        isLeft = true;
      }
    });
    const { text, results } = await run([endless]);
    expect([text, results, isLeft]).toEqual(['ordinary', ['unusable'], true]);
  });

  /** Says nothing until it is stopped. */
  const silent = planOf(async function* (signal) {
    yield accepted;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    signal.throwIfAborted();
  });

  it('a turn that takes too long is ended', async () => {
    const { text, results } = await run([silent], {}, { limitMs: 1 });
    expect([text, results]).toEqual(['ordinary', ['late']]);
  });

  it('nothing follows if the caller has left', async () => {
    const gone = new AbortController();
    const results: unknown[] = [];
    const running = run([silent], {}, { onResult: (result) => results.push(result) }, gone.signal);
    setImmediate(() => gone.abort(new Error('gone')));
    await expect(running).rejects.toThrow('gone');
    expect(results).toEqual(['abandoned']);
  });
});

const names = createModelNames(
  {
    models: [
      knownModel('gpt-5.5', { efforts: ['minimal', 'low', 'high'], serviceTiers: ['priority'] }),
      knownModel('gpt-5.5-mini', { efforts: ['minimal', 'medium'] }),
      knownModel('plain', { efforts: [] }),
      knownModel('llama'),
    ],
    standard: null,
    unlisted: [],
  },
  { house: 'gpt-5.5' },
);

it.each([
  // The smallest, with the least effort where it has no low one.
  [null, 'gpt-5.5-mini', ['minimal'], null],
  ['gpt-5.5', 'gpt-5.5', ['low'], null],
  ['house', 'gpt-5.5', ['low'], null],
  ['gpt-5.5-high-fast', 'gpt-5.5', ['high'], 'priority'],
  ['plain', 'plain', [null], null],
  // Of these nothing is known.
  ['llama', 'llama', ['low', null], null],
  ['elsewhere', 'elsewhere', ['low', null], null],
])('%s is %s', (named, model, efforts, serviceTier) => {
  expect(shortModelOf(names, named, 'asked')).toEqual({ model, efforts, serviceTier });
});

it('is the requested model if none is listed', () => {
  const none = createModelNames({ models: [], standard: null, unlisted: [] });
  expect(shortModelOf(none, null, 'asked')).toEqual({
    model: 'asked',
    efforts: ['low', null],
    serviceTier: null,
  });
});
