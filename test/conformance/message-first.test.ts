import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

/** The layout of requirement 004: `output[0]` is the message, tool k is `output[1 + k]`. */

const { proxy, client } = await openChecked(hello, { PROXY_RESPONSES_LAYOUT: 'message-first' });

const look = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false } as const;
const ASK = { model: 'gpt-5.5', input: 'go', tools: [look] };
const call = (callId: string) => ({ call: { name: 'look', arguments: { q: callId }, callId } });

/** A model that reasons, and writes before, between and after its calls. */
const mixed = says([
  { reasoning: { summary: ['Hm.'], encrypted: 'sealed' } },
  call('call_1'),
  { text: 'One.' },
  call('call_2'),
  { text: 'Two.' },
]);

const called = (callId: string) => ({
  id: expect.stringMatching(/^fc_/),
  type: 'function_call',
  status: 'completed',
  call_id: callId,
  name: 'look',
  arguments: `{"q":"${callId}"}`,
});
const message = (text: string, id = /^msg_/) => ({
  id: expect.stringMatching(id),
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
});

describe('the layout message-first', () => {
  it('puts all text into output[0] and the calls after it', async () => {
    proxy.use(mixed);
    const { output } = await client.openai.responses.create(ASK);
    expect(output).toEqual([message('One.\n\nTwo.'), called('call_1'), called('call_2')]);
  });

  it('streams the text at index 0, then the calls from index 1, then the same response', async () => {
    proxy.use(mixed);
    const stream = client.openai.responses.stream(ASK);
    await stream.finalResponse();
    const events = await client.lastEvents();
    const toolEvents = (index: number) => [
      `output_item.added ${index}`,
      `function_call_arguments.delta ${index}`,
      `function_call_arguments.done ${index}`,
      `output_item.done ${index}`,
    ];
    const told = events.map(({ type, output_index: index }) =>
      [String(type).replace('response.', ''), index].join(' ').trim(),
    );
    // For any number of deltas.
    expect(told.filter((one, at) => one !== told[at - 1])).toEqual([
      'created',
      'in_progress',
      'output_item.added 0',
      'content_part.added 0',
      'output_text.delta 0',
      'output_text.done 0',
      'content_part.done 0',
      'output_item.done 0',
      ...toolEvents(1),
      ...toolEvents(2),
      'completed',
    ]);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({
      response: { output: [message('One.\n\nTwo.'), called('call_1'), called('call_2')] },
    });
  });

  it('begins with an empty message if the model only calls tools; it is removed when it is sent back', async () => {
    proxy.use(inTurn(says([call('call_1')]), says([{ text: 'Done.' }]), says([{ text: 'Done.' }])));
    const first = await client.openai.responses.create(ASK);
    expect(first.output).toEqual([message('', /^msg_empty_/), called('call_1')]);
    const [placeholder, ...calls] = first.output as ResponseInputItem[];
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'found' } as const;
    const reference = { type: 'item_reference', id: first.output[0]?.id ?? '' } as const;
    for (const sentBack of [placeholder, reference]) {
      const input = [{ role: 'user', content: 'go' }, sentBack, ...calls, output] as ResponseInputItem[];
      const { output_text: text } = await client.openai.responses.create({ ...ASK, input });
      expect(text).toBe('Done.');
      expect(sentItems(proxy.model)).toMatchObject([
        { role: 'user' },
        { call_id: 'call_1' },
        { output: 'found' },
      ]);
    }
  });

  it('applies even if reasoning is requested, which is named as ignored, and can be overridden by the header', async () => {
    proxy.use(mixed);
    const asked = { ...ASK, reasoning: { summary: 'auto' } };
    const answer = await proxy.post('/v1/responses', asked);
    const { output } = (await answer.json()) as { output: JsonObject[] };
    expect(output.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call']);
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('reasoning.summary');
    const headers = { 'x-proxy-output-layout': 'natural' };
    const natural = await client.openai.responses.create(ASK, { headers });
    expect(natural.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'function_call',
      'message',
      'function_call',
      'message',
    ]);
  });
});
