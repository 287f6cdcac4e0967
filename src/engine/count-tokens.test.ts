import { describe, expect, it } from 'vitest';

import { turnRequest, functionTool } from '../../test/support/turn-request.ts';
import type { Item } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { countAhead, countInput, countUsage, type TokenCounter } from './count-tokens.ts';

/** A token for each word, and notes of what was asked. */
const words = () => {
  const jobs: { readonly chars: number; readonly model: string }[] = [];
  const tokenizer: TokenCounter = {
    async countTexts(texts, { model }) {
      jobs.push({ chars: texts.join('').length, model });
      return texts.reduce((all, text) => all + text.split(/\s+/).filter(Boolean).length, 0);
    },
  };
  return { jobs, tokenizer };
};

const { signal } = new AbortController();
const still = { now: () => 0 };
const counted = (different: Partial<TurnRequest>): Promise<number> =>
  countInput(turnRequest(different), { tokenizer: words().tokenizer, clock: still, caller: 'a', signal });

const user = (text: string): Item => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });
const file = (data: string): Item => ({
  kind: 'message',
  role: 'user',
  parts: [{ kind: 'file', raw: { type: 'input_file', filename: 'a', file_data: data } }],
});
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pdf = (pages: number): string =>
  base64(`%PDF-1.4 /Type /Pages ${Array.from({ length: pages }, () => '/Type /Page ').join('')}`);

// The answer's beginning counts 2, every message 4, all tools together 8.
describe('countInput', () => {
  it.each<[what: string, different: Partial<TurnRequest>, tokens: number]>([
    ['nothing', { items: [] }, 2],
    ['a text', { items: [user('Tell me a joke')] }, 2 + 4 + 4],
    ['instructions', { instructions: 'be kind', items: [] }, 2 + 4 + 2],
    ['a tool', { items: [], tools: [functionTool('f', { description: 'does it well' })] }, 2 + 8 + 3],
    [
      'a schema',
      { items: [], format: { kind: 'json-schema', name: 'n', description: 'a b', schema: {}, strict: null } },
      2 + 2,
    ],
    [
      'a call and its output',
      {
        items: [
          { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{} {}' },
          { kind: 'tool-output', tool: 'function', callId: 'c', output: 'it is done' },
        ],
      },
      2 + (4 + 3) + (4 + 3),
    ],
    [
      'an image',
      { items: [{ kind: 'message', role: 'user', parts: [{ kind: 'image', url: 'https://a/b.png' }] }] },
      2 + 4 + 1024,
    ],
    ['a text file', { items: [file(base64('one two three'))] }, 2 + 4 + 4],
    ['a PDF', { items: [file(`data:application/pdf;base64,${pdf(3)}`)] }, 2 + 4 + 3 * (500 + 1024)],
    [
      'a PDF with very many pages, most of which are not looked at',
      { items: [file(pdf(60_000))] },
      2 + 4 + 59_997 * (500 + 1024),
    ],
    ['another file', { items: [file(base64('\0'.repeat(160)))] }, 2 + 4 + 10],
    [
      'reasoning, sealed and open',
      {
        items: [
          { kind: 'reasoning', summary: ['not counted'], encryptedContent: 'x'.repeat(16) },
          { kind: 'reasoning', summary: ['one two'] },
        ],
      },
      2 + 3 + 2,
    ],
    [
      'an image in an item of the backend',
      {
        items: [
          {
            kind: 'hosted-call',
            raw: { type: 'image_generation_call', result: 'A'.repeat(2_000), prompt: 'a cat' },
          },
        ],
      },
      2 + 1024 + 2,
    ],
  ])('%s', async (_, different, tokens) => {
    expect(await counted(different)).toBe(tokens);
  });

  it('counts in small pieces, in the encoding of the model', async () => {
    const { jobs, tokenizer } = words();
    const items = [user('word '.repeat(10_000)), user('a'), user('b')];
    await countInput(turnRequest({ model: 'gpt-4', items }), {
      tokenizer,
      clock: still,
      caller: 'a',
      signal,
    });
    expect(Math.max(...jobs.map(({ chars }) => chars))).toBeLessThanOrEqual(16 * 1024);
    expect(jobs.reduce((all, { chars }) => all + chars, 0)).toBe(50_002);
    expect(new Set(jobs.map(({ model }) => model))).toEqual(new Set(['gpt-4']));
  });

  it('estimates what it has no time to count', async () => {
    const { jobs, tokenizer } = words();
    let now = 0;
    const slow: TokenCounter = {
      countTexts(texts, by) {
        now += 3_000;
        return tokenizer.countTexts(texts, by);
      },
    };
    const text = 'abc '.repeat(4_096);
    const items = Array.from({ length: 100 }, () => user(text));
    const tokens = await countInput(turnRequest({ items }), {
      tokenizer: slow,
      clock: { now: () => now },
      caller: 'a',
      signal,
    });
    expect(jobs.length).toBeLessThan(5);
    expect(tokens).toBe(2 + 100 * (4 + 4_096));
  });

  it('ends with its request', async () => {
    const { tokenizer } = words();
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(
      countInput(turnRequest(), { tokenizer, clock: still, caller: 'a', signal: gone }),
    ).rejects.toThrow('gone');
  });
});

describe('countAhead', () => {
  const items = [user('Tell me a joke')];

  it('has the count if it is ready', async () => {
    const { tokenizer } = words();
    const ahead = countAhead(turnRequest({ items }), { tokenizer, clock: still, caller: 'a', signal });
    expect(await ahead()).toBe(2 + 4 + 4);
  });

  it('goes by the length if it is not, and counts no further', async () => {
    const { jobs, tokenizer } = words();
    const first = Promise.withResolvers<null>();
    const stuck: TokenCounter = {
      async countTexts(texts, by) {
        const count = await tokenizer.countTexts(texts, by);
        await first.promise;
        return count;
      },
    };
    const long = Array.from({ length: 10 }, () => user('abcd'.repeat(4_096)));
    const ahead = countAhead(turnRequest({ items: long }), {
      tokenizer: stuck,
      clock: still,
      caller: 'a',
      signal,
    });
    expect(await ahead()).toBe(2 + 10 * (4 + 4_096));
    first.resolve(null);
    await new Promise(setImmediate);
    expect(jobs).toHaveLength(1);
  });

  it('goes by the length if the count fails', async () => {
    const failing: TokenCounter = { countTexts: () => Promise.reject(new Error('broken')) };
    const counting = { tokenizer: failing, clock: still, caller: 'a', signal };
    expect(await countAhead(turnRequest({ items }), counting)()).toBe(2 + 4 + 4);
  });
});

describe('countUsage', () => {
  it('counts both sides, and reasoning by its text or the length of its encrypted form', async () => {
    const { tokenizer } = words();
    const answer: readonly Item[] = [
      { kind: 'reasoning', id: 'r', summary: ['so to say'], content: ['I think so'] },
      { kind: 'reasoning', id: 's', summary: ['so to say'], encryptedContent: 'x'.repeat(160) },
      { kind: 'message', id: 'm', role: 'assistant', parts: [{ kind: 'text', text: 'one two' }] },
      { kind: 'tool-call', id: 'c', tool: 'function', callId: 'c', name: 'f', input: '{ }' },
    ];
    expect(await countUsage(turnRequest(), answer, { tokenizer, clock: still, caller: 'a', signal })).toEqual(
      {
        inputTokens: 2 + 4 + 1,
        cachedInputTokens: 0,
        cacheWriteInputTokens: 0,
        outputTokens: 33 + 2 + 3,
        reasoningTokens: 33,
        totalTokens: 7 + 38,
        isCounted: true,
      },
    );
  });
});
