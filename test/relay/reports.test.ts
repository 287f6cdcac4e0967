import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openChecked } from '../conformance/responses-checked.ts';
import { HELLO_USAGE, says } from '../support/scripts.ts';
import { askBoth, named, type Both } from './ask-both.ts';

const { proxy, client } = await openChecked(says([]));

const ASK = { model: 'gpt-5.5', input: 'hi' } as const;
const both = (script: Script, more: Record<string, unknown> = {}): Promise<Both> =>
  askBoth(proxy, client, script, { ...ASK, ...more });

describe('a refusal', () => {
  it('is a separate part, with its events', async () => {
    const { events, last, json } = await both(says([{ refusal: 'I will not help with that.' }]));
    const part = { type: 'refusal', refusal: 'I will not help with that.' };
    expect(last['output']).toMatchObject([{ type: 'message', status: 'completed', content: [part] }]);
    expect(json['output']).toMatchObject([{ type: 'message', status: 'completed', content: [part] }]);
    expect(events.map((event) => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      ...Array<string>(6).fill('response.refusal.delta'),
      'response.refusal.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(last['usage']).not.toBeNull();
  });

  it('may follow a text or reasoning', async () => {
    const raw = (type: string, data: JsonObject) => ({ event: { type, ...data } });
    const at = { item_id: 'msg_1', output_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress' };
    const content = [
      { type: 'output_text', text: 'Well, ', annotations: [] },
      { type: 'refusal', refusal: 'no.' },
    ];
    const { last, json } = await both(
      says([
        raw('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
        raw('response.output_text.delta', { ...at, content_index: 0, delta: 'Well, ' }),
        raw('response.refusal.delta', { ...at, content_index: 1, delta: 'no.' }),
        raw('response.output_item.done', {
          output_index: 0,
          item: { ...item, status: 'completed', content },
        }),
      ]),
    );
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([
        {
          type: 'message',
          content: [
            { type: 'output_text', text: 'Well, ' },
            { type: 'refusal', refusal: 'no.' },
          ],
        },
      ]);
    }
    const thought = await both(says([{ reasoning: { summary: ['Hm.'] } }, { refusal: 'No.' }]), {
      reasoning: { summary: 'auto' },
    });
    expect(thought.json['output']).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
    ]);
  });
});

describe('an incomplete answer', () => {
  it.each(['max_output_tokens', 'content_filter'] as const)(
    'reports the reason and its usage: %s',
    async (reason) => {
      const { last, json } = await both(
        says([{ text: 'This was cut', end: 'incomplete' }, { incomplete: reason }], { usage: HELLO_USAGE }),
      );
      for (const response of [last, json]) {
        expect(response).toMatchObject({
          status: 'incomplete',
          incomplete_details: { reason },
          output: [{ status: 'incomplete', content: [{ text: 'This was cut' }] }],
          usage: {
            input_tokens: 11,
            input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
            output_tokens: 7,
            output_tokens_details: { reasoning_tokens: 1 },
            total_tokens: 18,
          },
        });
      }
    },
  );

  it('includes an earlier answer in the same turn', async () => {
    const usage = (tokens: number) => ({
      inputTokens: tokens,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      outputTokens: tokens,
      reasoningTokens: 0,
      totalTokens: 2 * tokens,
    });
    let nth = 0;
    proxy.use((_request, connection) => {
      nth += 1;
      return nth === 1
        ? answer(connection, [{ call: { name: 'undeclared', arguments: '{}' } }], { usage: usage(5) })
        : answer(connection, [{ incomplete: 'max_output_tokens' }], { usage: usage(7) });
    });
    const response = await client.openai.responses.create(ASK);
    expect(response).toMatchObject({ status: 'incomplete', usage: { input_tokens: 12, total_tokens: 24 } });
  });
});

describe('headers of a successful answer', () => {
  it.each([true, false])('have its request id and limits (stream: %s)', async (stream) => {
    proxy.use(
      says([{ text: 'x' }], {
        headers: { 'x-request-id': 'req_up_2', 'x-ratelimit-remaining-tokens': '99', 'x-secret': 'no' },
      }),
    );
    const response = await proxy.post('/v1/responses', { ...ASK, stream });
    await response.text();
    expect(response.headers.get('x-upstream-request-id')).toBe('req_up_2');
    expect(response.headers.get('x-request-id')).not.toBe('req_up_2');
    expect(response.headers.get('x-ratelimit-remaining-tokens')).toBe('99');
    expect(response.headers.get('x-secret')).toBeNull();
  });
});

describe('annotations and log probabilities', () => {
  it('arrive with the text', async () => {
    const annotations = [
      { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 3 },
    ];
    const logprobs = [{ token: 'Yes', bytes: [89, 101, 115], logprob: -0.1, top_logprobs: [] }];
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant' };
    const part = { type: 'output_text', text: 'Yes', annotations, logprobs };
    const { events, last, json } = await both(
      says([
        {
          event: {
            type: 'response.output_item.added',
            output_index: 0,
            item: { ...item, status: 'in_progress', content: [] },
          },
        },
        { event: { type: 'response.output_text.delta', ...at, delta: 'Yes', logprobs } },
        {
          event: {
            type: 'response.output_item.done',
            output_index: 0,
            item: { ...item, status: 'completed', content: [part] },
          },
        },
      ]),
      { top_logprobs: 1, include: ['message.output_text.logprobs'] },
    );
    expect(last['output']).toMatchObject([{ content: [part] }]);
    expect(json['output']).toMatchObject([{ content: [part] }]);
    expect(named(events, 'response.output_text.done')).toMatchObject([{ text: 'Yes', logprobs }]);
  });
});
