import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure.ts';
import { fold } from '../../src/canonical/reply.ts';
import type { TurnEvent } from '../../src/canonical/turn-event.ts';
import { mapAll, type OneOrMore } from '../../src/kit/one-or-more.ts';
import { arrange } from '../../src/openai/chat/arrange.ts';
import { projectChat, type ChatMeta } from '../../src/openai/chat/project.ts';
import { renderChat } from '../../src/openai/chat/render.ts';
import { projectCompletion, renderCompletion } from '../../src/openai/completions/answer.ts';
import { encodeFrame } from '../../src/openai/sse.ts';
import { collect, emit } from '../support/turn-events.ts';

/** What a chat client reads, to the byte, as JSON and as a stream. */

const usage = {
  inputTokens: 11,
  cachedInputTokens: 3,
  cacheWriteInputTokens: 2,
  outputTokens: 7,
  reasoningTokens: 1,
  totalTokens: 18,
};
const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
const ended: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage };

interface Said {
  readonly phase?: 'commentary' | 'final_answer';
  readonly refusal?: string;
  readonly logprobs?: readonly { token: string; logprob: number; bytes: number[]; top_logprobs: [] }[];
  readonly citation?: readonly [number, number];
}
const message = (id: string, deltas: readonly string[], more: Said = {}): TurnEvent[] => [
  { type: 'message-started', itemId: id, phase: more.phase ?? null },
  ...deltas.map((delta) => ({ type: 'text-delta', itemId: id, delta }) as const),
  ...(more.refusal === undefined
    ? []
    : [{ type: 'refusal-delta', itemId: id, delta: more.refusal } as const]),
  {
    type: 'message-ended',
    itemId: id,
    text: deltas.join(''),
    refusal: more.refusal ?? null,
    phase: more.phase ?? null,
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
    complete: true,
  },
];

const call = (index: number): TurnEvent[] => [
  { type: 'call-started', itemId: `fc_${index}`, callId: `call_${index}`, name: 'get_weather' },
  { type: 'call-delta', itemId: `fc_${index}`, delta: '{"city":' },
  { type: 'call-delta', itemId: `fc_${index}`, delta: '"Paris"}' },
  {
    type: 'call-ended',
    itemId: `fc_${index}`,
    callId: `call_${index}`,
    name: 'get_weather',
    arguments: '{"city":"Paris"}',
    complete: true,
  },
];

const reasoning: TurnEvent[] = [
  { type: 'reasoning-started', itemId: 'rs' },
  { type: 'reasoning-summary-started', itemId: 'rs', index: 0 },
  { type: 'reasoning-summary-delta', itemId: 'rs', index: 0, delta: '**Looking**' },
  { type: 'reasoning-summary-started', itemId: 'rs', index: 1 },
  { type: 'reasoning-summary-delta', itemId: 'rs', index: 1, delta: '**Deciding**' },
  {
    type: 'reasoning-ended',
    itemId: 'rs',
    summary: ['**Looking**', '**Deciding**'],
    content: [],
    encryptedContent: 'opaque',
    complete: true,
  },
];

const SOME_LOGPROBS = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] as [] }];
const turns: Readonly<Record<string, OneOrMore<readonly TurnEvent[]>>> = {
  'a text': [[accepted, ...message('m', ['Hel', 'lo.']), ended]],
  'an empty answer': [[accepted, ended]],
  'calls only': [
    [accepted, ...call(0), ...call(1), { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage }],
  ],
  'a text and a call': [
    [
      accepted,
      ...message('m', ['Looking.']),
      ...call(0),
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage },
    ],
  ],
  'reasoning, commentary and the answer': [
    [
      accepted,
      ...reasoning,
      ...message('m', ['Let me see.'], { phase: 'commentary' }),
      ...message('n', ['It is 42.'], { phase: 'final_answer', citation: [6, 8] }),
      ended,
    ],
  ],
  'a refusal': [[accepted, ...message('m', [], { refusal: 'I will not.' }), ended]],
  'log probabilities': [[accepted, ...message('m', ['Hi'], { logprobs: SOME_LOGPROBS }), ended]],
  'cut at the limit, without usage': [
    [
      accepted,
      ...message('m', ['Cut']),
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
        usage: null,
      },
    ],
  ],
  filtered: [
    [accepted, { type: 'turn-ended', outcome: { kind: 'incomplete', reason: 'content_filter' }, usage }],
  ],
  'two choices': [
    [accepted, ...message('m', ['one']), ended],
    [accepted, ...message('m', ['two']), ended],
  ],
};

const meta: ChatMeta = {
  id: 'chatcmpl-1',
  createdAt: 1_800_000_000,
  model: 'gpt-5.5',
  serviceTier: 'flex',
  isLegacy: false,
  includeUsage: true,
  usagePolicy: 'exact',
};
const shown = { showReasoning: true, showCommentary: true };
const arranged = (all: OneOrMore<readonly TurnEvent[]>) =>
  mapAll(all, (events) => arrange(emit(events), shown));
const foldAll = (all: OneOrMore<readonly TurnEvent[]>) => Promise.all(mapAll(arranged(all), fold));
const text = async (frames: AsyncIterable<Parameters<typeof encodeFrame>[0]>): Promise<string> =>
  (await collect(frames)).map(encodeFrame).join('');

describe('chat', () => {
  it.each(Object.entries(turns))('%s', async (_, all) => {
    expect(projectChat(await foldAll(all), meta)).toMatchSnapshot('json');
    expect(await text(renderChat(arranged(all), meta))).toMatchSnapshot('stream');
  });

  it('tells calls in the older form', async () => {
    const all = turns['calls only'];
    if (all === undefined) throw new Error('no such scenario');
    const legacy = { ...meta, isLegacy: true, includeUsage: false };
    expect(projectChat(await foldAll(all), legacy)).toMatchSnapshot('json');
    expect(await text(renderChat(arranged(all), legacy))).toMatchSnapshot('stream');
  });

  it('ends with the error in the middle of a stream', async () => {
    const failed: TurnEvent = {
      type: 'turn-ended',
      outcome: { kind: 'failed', failure: failure('upstream_error') },
      usage: null,
    };
    const all = [[accepted, ...message('m', ['Half']), failed]] as const;
    expect(await text(renderChat(arranged(all), meta))).toMatchSnapshot('stream');
  });
});

describe('completions', () => {
  const completion = { ...meta, id: 'cmpl-1' };
  it.each(['a text', 'an empty answer', 'a refusal', 'two choices'])('%s', async (name) => {
    const all = turns[name];
    if (all === undefined) throw new Error('no such scenario');
    expect(projectCompletion(await foldAll(all), completion)).toMatchSnapshot('json');
    expect(await text(renderCompletion(arranged(all), completion))).toMatchSnapshot('stream');
  });
});
