import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { fold } from '../../src/canonical/events/accumulate.ts';
import { messageParts } from '../../src/canonical/request/item.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { mapAll, type OneOrMore } from '../../src/kit/collections/lists.ts';
import { arrangeChat, renderChat } from '../../src/openai/chat/render.ts';
import { projectChat, type ChatMeta } from '../../src/openai/chat/project.ts';
import { projectCompletion, renderCompletion } from '../../src/openai/completions/answer.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import { HELLO_USAGE } from '../support/scripts.ts';
import { ACCEPTED, END } from '../support/item-events.ts';
import { collect, emit } from '../support/turn-events.ts';

/** Chat answers, byte for byte, as JSON and as a stream. */

const usage = HELLO_USAGE;
const ended: TurnEvent = { ...END, usage };

interface Said {
  readonly phase?: 'commentary' | 'final_answer';
  readonly refusal?: string;
  readonly logprobs?: readonly { token: string; logprob: number; bytes: number[]; top_logprobs: [] }[];
  readonly citation?: readonly [number, number];
}
const phase = ({ phase: one }: Said) => (one === undefined ? {} : { phase: one });
const message = (id: string, deltas: readonly string[], more: Said = {}): TurnEvent[] => [
  {
    type: 'item-started',
    item: {
      kind: 'message',
      id,
      role: 'assistant',
      parts: [],
      ...phase(more),
    },
  },
  ...deltas.map((delta) => ({ type: 'item-delta', itemId: id, at: 'text', delta }) as const),
  ...(more.refusal === undefined
    ? []
    : [{ type: 'item-delta', itemId: id, at: 'refusal', delta: more.refusal } as const]),
  {
    type: 'item-ended',
    item: {
      kind: 'message',
      id,
      role: 'assistant',
      parts: messageParts({
        text: deltas.join(''),
        refusal: more.refusal ?? null,
        annotations: more.citation
          ? [
              {
                type: 'url_citation',
                url: 'https://example.org',
                title: 'Example',
                start_index: more.citation[0],
                end_index: more.citation[1],
              },
            ]
          : [],
        logprobs: more.logprobs ?? [],
      }),
      ...phase(more),
      status: 'completed',
    },
  },
];

const call = (index: number): TurnEvent[] => [
  {
    type: 'item-started',
    item: {
      kind: 'tool-call',
      id: `fc_${index}`,
      tool: 'function',
      callId: `call_${index}`,
      name: 'get_weather',
      input: '',
    },
  },
  { type: 'item-delta', itemId: `fc_${index}`, at: 'input', delta: '{"city":' },
  { type: 'item-delta', itemId: `fc_${index}`, at: 'input', delta: '"Paris"}' },
  {
    type: 'item-ended',
    item: {
      kind: 'tool-call',
      id: `fc_${index}`,
      tool: 'function',
      callId: `call_${index}`,
      name: 'get_weather',
      input: '{"city":"Paris"}',
      status: 'completed',
    },
  },
];

const reasoning: TurnEvent[] = [
  { type: 'item-started', item: { kind: 'reasoning', id: 'rs', summary: [] } },
  { type: 'item-delta', itemId: 'rs', at: { list: 'summary', index: 0 }, delta: '' },
  { type: 'item-delta', itemId: 'rs', at: { list: 'summary', index: 0 }, delta: '**Looking**' },
  { type: 'item-delta', itemId: 'rs', at: { list: 'summary', index: 1 }, delta: '' },
  { type: 'item-delta', itemId: 'rs', at: { list: 'summary', index: 1 }, delta: '**Deciding**' },
  {
    type: 'item-ended',
    item: {
      kind: 'reasoning',
      id: 'rs',
      summary: ['**Looking**', '**Deciding**'],
      encryptedContent: 'opaque',
      status: 'completed',
    },
  },
];

const SOME_LOGPROBS = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] as [] }];
const turns: Readonly<Record<string, OneOrMore<readonly TurnEvent[]>>> = {
  'a text': [[ACCEPTED, ...message('m', ['Hel', 'lo.']), ended]],
  'an empty answer': [[ACCEPTED, ended]],
  'calls only': [
    [
      ACCEPTED,
      ...call(0),
      ...call(1),
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage, at: 1_800_000_000_000 },
    ],
  ],
  'a text and a call': [
    [
      ACCEPTED,
      ...message('m', ['Looking.']),
      ...call(0),
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage, at: 1_800_000_000_000 },
    ],
  ],
  'reasoning, commentary and the answer': [
    [
      ACCEPTED,
      ...reasoning,
      ...message('m', ['Let me see.'], { phase: 'commentary' }),
      ...message('n', ['It is 42.'], { phase: 'final_answer', citation: [6, 8] }),
      ended,
    ],
  ],
  'a refusal': [[ACCEPTED, ...message('m', [], { refusal: 'I will not.' }), ended]],
  'log probabilities': [[ACCEPTED, ...message('m', ['Hi'], { logprobs: SOME_LOGPROBS }), ended]],
  'cut at the limit, without usage': [
    [
      ACCEPTED,
      ...message('m', ['Cut']),
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
        usage: null,
        at: 1_800_000_000_000,
      },
    ],
  ],
  filtered: [
    [
      ACCEPTED,
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'content_filter' },
        usage,
        at: 1_800_000_000_000,
      },
    ],
  ],
  'two choices': [
    [ACCEPTED, ...message('m', ['one']), ended],
    [ACCEPTED, ...message('m', ['two']), ended],
  ],
};

const meta: ChatMeta = {
  id: 'chatcmpl-1',
  createdAt: 1_800_000_000,
  model: 'gpt-5.5',
  serviceTier: 'flex',
  isLegacy: false,
  isAlsoLegacy: false,
  includeUsage: true,
  usagePolicy: 'exact',
};
const shown = { showReasoning: true, showCommentary: true };
const arranged = (all: OneOrMore<readonly TurnEvent[]>) =>
  mapAll(all, (events) => arrangeChat(emit(events), shown));
const foldAll = (all: OneOrMore<readonly TurnEvent[]>) => Promise.all(mapAll(arranged(all), fold));
const text = async (frames: AsyncIterable<Parameters<typeof encodeFrame>[0]>): Promise<string> =>
  (await collect(frames)).map(encodeFrame).join('');

describe('chat', () => {
  it.each(Object.entries(turns))('%s', async (_, all) => {
    expect(projectChat(await foldAll(all), meta)).toMatchSnapshot('json');
    expect(await text(renderChat(arranged(all), meta))).toMatchSnapshot('stream');
  });

  it('sends calls in the legacy form', async () => {
    const all = turns['calls only'];
    if (all === undefined) throw new Error('no such scenario');
    const legacy = { ...meta, isLegacy: true, includeUsage: false };
    expect(projectChat(await foldAll(all), legacy)).toMatchSnapshot('json');
    expect(await text(renderChat(arranged(all), legacy))).toMatchSnapshot('stream');
  });

  it('reports an error in the middle of a stream', async () => {
    const failed: TurnEvent = {
      type: 'turn-ended',
      outcome: { kind: 'failed', failure: failure('upstream_error') },
      usage: null,
      at: 1_800_000_000_000,
    };
    const all = [[ACCEPTED, ...message('m', ['Half']), failed]] as const;
    expect(await text(renderChat(arranged(all), meta))).toMatchSnapshot('stream');
  });
});

describe('completions', () => {
  const completion = { ...meta, id: 'cmpl-1', echoes: [] };
  it.each(['a text', 'an empty answer', 'a refusal', 'two choices'])('%s', async (name) => {
    const all = turns[name];
    if (all === undefined) throw new Error('no such scenario');
    expect(projectCompletion(await foldAll(all), completion)).toMatchSnapshot('json');
    expect(await text(renderCompletion(arranged(all), completion))).toMatchSnapshot('stream');
  });

  it('puts the prompt before its answer', async () => {
    const all = turns['two choices'];
    if (all === undefined) throw new Error('no such scenario');
    const echoing = { ...completion, echoes: ['Once ', 'Twice '] };
    const { choices } = projectCompletion(await foldAll(all), echoing);
    const plain = projectCompletion(await foldAll(all), completion).choices;
    const texts = choices.map((choice) => choice.text);
    expect(texts).toEqual(plain.map((choice, index) => echoing.echoes[index] + choice.text));
    const streamed = ['', ''];
    for await (const { data } of renderCompletion(arranged(all), echoing)) {
      if (typeof data !== 'object' || data === null || !('choices' in data)) continue;
      for (const choice of data.choices as typeof choices) streamed[choice.index] += choice.text;
    }
    expect(streamed).toEqual(texts);
  });
});
