import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { mapAll, type OneOrMore } from '../../src/kit/collections/lists.ts';
import { arrangeChat, type ArrangeOptions, renderChat } from '../../src/openai/chat/render.ts';
import { projectChat, type ChatMeta } from '../../src/openai/chat/project.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import type { Frame } from '../../src/turns/api.ts';
import { validateChatChunk, validateChatCompletion } from '../support/schema.ts';
import { readSse } from '../support/sse.ts';
import { collect, emit, turnEvents, withoutItems } from '../support/turn-events.ts';

type Turns = OneOrMore<readonly TurnEvent[]>;
interface Settings {
  readonly shown: ArrangeOptions;
  readonly isLegacy: boolean;
  readonly isAlsoLegacy: boolean;
  readonly includeUsage: boolean;
  readonly usagePolicy: ChatMeta['usagePolicy'];
}

const settings: fc.Arbitrary<Settings> = fc.record({
  shown: fc.record({ showReasoning: fc.boolean(), showCommentary: fc.boolean() }),
  isLegacy: fc.boolean(),
  isAlsoLegacy: fc.boolean(),
  includeUsage: fc.boolean(),
  usagePolicy: fc.constantFrom('exact', 'zeros'),
});

/** Mostly one turn, sometimes several, as with `n`. */
const turns: fc.Arbitrary<Turns> = fc.oneof(
  { weight: 3, arbitrary: turnEvents.map((one): Turns => [one]) },
  fc.tuple(turnEvents, turnEvents, turnEvents),
);

const metaOf = ({ isLegacy, isAlsoLegacy, includeUsage, usagePolicy }: Settings): ChatMeta => ({
  id: 'chatcmpl-1',
  createdAt: 1_800_000_000,
  model: 'gpt-5.5',
  serviceTier: null,
  isLegacy,
  isAlsoLegacy,
  includeUsage,
  usagePolicy,
});

const stream = (all: Turns, how: Settings): Promise<Frame[]> =>
  collect(
    renderChat(
      mapAll(all, (events) => arrangeChat(emit(events), how.shown)),
      metaOf(how),
    ),
  );

const body = async (all: Turns, how: Settings) =>
  projectChat(
    await Promise.all(mapAll(all, (events) => fold(arrangeChat(emit(events), how.shown)))),
    metaOf(how),
  );

interface Delta {
  role?: string;
  content?: string | null;
  refusal?: string | null;
  reasoning_content?: string;
  reasoning?: string;
  annotations?: unknown[];
  function_call?: { name?: string; arguments: string };
  tool_calls?: {
    index: number;
    id?: string;
    type?: string;
    function?: { name?: string; arguments: string };
    custom?: { name?: string; input: string };
  }[];
}
interface Called {
  id: string;
  type: string;
  function?: { name: string; arguments: string };
  custom?: { name: string; input: string };
}
interface Chunk {
  id: string;
  object: string;
  usage?: unknown;
  choices: {
    index: number;
    delta: Delta;
    logprobs: { content: unknown[]; refusal: null } | null;
    finish_reason: string | null;
  }[];
}

const chunksOf = async (frames: readonly Frame[]): Promise<{ chunks: Chunk[]; last: string | undefined }> => {
  const read = await collect(readSse(frames.map(encodeFrame).join('')));
  const chunks = read
    .filter((frame) => frame.data !== '[DONE]')
    .map((frame) => JSON.parse(frame.data) as Chunk);
  return { chunks, last: read.at(-1)?.data };
};

interface Message {
  role?: string;
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  reasoning?: string;
  annotations: unknown[];
  function_call?: { name: string; arguments: string };
  tool_calls?: Called[];
}
interface Choice {
  index: number;
  message: Message;
  logprobs: Chunk['choices'][number]['logprobs'];
  finish_reason: string | null;
}

/** Joins chunks as plainly as possible; the SDK is too lenient. */
const accumulate = (chunks: readonly Chunk[]): Choice[] => {
  const choices: Choice[] = [];
  for (const { index, delta, logprobs, finish_reason } of chunks.flatMap((chunk) => chunk.choices)) {
    const choice = (choices[index] ??= {
      index,
      message: { content: null, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: null,
    });
    const { message } = choice;
    // The role comes first, once.
    expect(message.role === undefined).toBe(delta.role !== undefined);
    if (delta.role !== undefined) message.role = delta.role;
    for (const field of ['content', 'refusal', 'reasoning_content', 'reasoning'] as const) {
      const text = delta[field];
      if (typeof text === 'string') message[field] = (message[field] ?? '') + text;
    }
    if (delta.annotations) message.annotations = [...message.annotations, ...delta.annotations];
    if (delta.function_call) {
      const { name, arguments: more } = delta.function_call;
      message.function_call ??= { name: name ?? '(no name first)', arguments: '' };
      message.function_call.arguments += more;
    }
    for (const call of delta.tool_calls ?? []) {
      const calls = (message.tool_calls ??= []);
      if (call.id !== undefined) {
        expect(call.index).toBe(calls.length);
        const { id, type = '', function: called, custom } = call;
        calls.push({
          id,
          type,
          ...(called && { function: { name: called.name ?? '', arguments: '' } }),
          ...(custom && { custom: { name: custom.name ?? '', input: '' } }),
        });
      }
      const found = calls[call.index];
      if (found === undefined) throw new Error('arguments of a call that was not announced');
      if (found.function) found.function.arguments += call.function?.arguments ?? '(another kind of call)';
      if (found.custom) found.custom.input += call.custom?.input ?? '(another kind of call)';
    }
    if (logprobs !== null) {
      choice.logprobs ??= { content: [], refusal: null };
      choice.logprobs.content.push(...logprobs.content);
    }
    expect(choice.finish_reason).toBe(null);
    if (finish_reason !== null) choice.finish_reason = finish_reason;
  }
  return choices;
};

const hasFailed = (all: Turns): boolean =>
  all.some((events) => {
    const last = events.at(-1);
    return last?.type === 'turn-ended' && last.outcome.kind === 'failed';
  });

describe('law C: joined chunks equal the JSON answer', () => {
  it('holds for any successful turns, with exactly one finish_reason per choice', async () => {
    await fc.assert(
      fc.asyncProperty(turns, settings, async (all, how) => {
        fc.pre(!hasFailed(all));
        const answer = JSON.parse(JSON.stringify(await body(all, how))) as Awaited<ReturnType<typeof body>>;
        const { chunks, last } = await chunksOf(await stream(all, how));
        expect(accumulate(chunks)).toEqual(answer.choices);
        expect(last).toBe('[DONE]');
        const finished = chunks.flatMap((chunk) => chunk.choices).filter((one) => one.finish_reason !== null);
        expect(finished.map((one) => one.index).toSorted((a, b) => a - b)).toEqual(
          all.map((_, index) => index),
        );
      }),
      { numRuns: 600 },
    );
  });

  it('sends usage in one last chunk without choices, and only if requested', async () => {
    await fc.assert(
      fc.asyncProperty(turns, settings, async (all, how) => {
        fc.pre(!hasFailed(all));
        const { chunks } = await chunksOf(await stream(all, how));
        const answer = await body(all, how);
        const given = how.includeUsage && answer.usage !== undefined ? [answer.usage] : [];
        const withoutChoices = chunks.filter((chunk) => chunk.choices.length === 0);
        expect(withoutChoices.map((chunk) => chunk.usage)).toEqual(given);
        const rest = new Set(chunks.filter((chunk) => chunk.choices.length > 0).map((chunk) => chunk.usage));
        expect([...rest]).toEqual([how.includeUsage ? null : undefined]);
      }),
    );
  });

  it('ends a stream with a failed turn with one error and no usage', async () => {
    await fc.assert(
      fc.asyncProperty(turns, settings, async (all, how) => {
        fc.pre(hasFailed(all));
        const { chunks, last } = await chunksOf(await stream(all, how));
        expect(last).toBe('[DONE]');
        const errors = chunks.filter((chunk) => 'error' in chunk);
        expect(errors).toEqual([chunks.at(-1)]);
        expect(Object.keys((errors[0] as unknown as { error: object }).error)).toEqual([
          'message',
          'type',
          'param',
          'code',
        ]);
      }),
    );
  });
});

describe('every chunk and every body', () => {
  it("matches OpenAI's schema", async () => {
    await fc.assert(
      fc.asyncProperty(turns, settings, async (all, how) => {
        fc.pre(!hasFailed(all));
        // The schema of chunks lacks custom calls; that of whole answers has them.
        const plain = mapAll(all, (events) =>
          withoutItems(events, (item) => item.kind === 'tool-call' && item.tool === 'custom'),
        );
        const { chunks } = await chunksOf(await stream(plain, how));
        const problems = chunks.flatMap((chunk) => validateChatChunk(chunk));
        expect([...problems, ...validateChatCompletion(await body(all, how))]).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
