import { describe, expect, it } from 'vitest';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

import { hello, reasoningThenText, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const { proxy, client } = await openChecked(reasoningThenText);

const SUMMARY = [
  { type: 'summary_text', text: '**Looking**\n\nAt the question.' },
  { type: 'summary_text', text: '**Deciding**\n\nOn the answer.' },
];
const MESSAGE = { type: 'message', content: [{ text: 'The answer is 42.' }] };

describe('reasoning', () => {
  it('is shown also to a client that did not ask, without the encrypted content', async () => {
    proxy.use(reasoningThenText);
    const { output } = await client.openai.responses.create({ model: 'gpt-5.5', input: 'why?' });
    expect(output).toEqual([
      { id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: SUMMARY },
      expect.objectContaining({ type: 'message' }),
    ]);
  });

  it('shows its summary when asked for it, without the encrypted content', async () => {
    proxy.use(reasoningThenText);
    const { output, reasoning } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: 'why?',
      reasoning: { effort: 'high', summary: 'detailed' },
    });
    expect(reasoning).toEqual({ effort: 'high', summary: 'detailed' });
    expect(proxy.model.requests.at(-1)?.body['reasoning']).toEqual({ effort: 'high', summary: 'detailed' });
    expect(output).toEqual([
      { id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: SUMMARY },
      expect.objectContaining({ type: 'message' }),
    ]);
  });

  it('shows its encrypted content when asked for that', async () => {
    proxy.use(reasoningThenText);
    const { output } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: 'why?',
      include: ['reasoning.encrypted_content'],
    });
    expect(output).toMatchObject([
      { type: 'reasoning', summary: SUMMARY, encrypted_content: 'opaque-reasoning' },
      MESSAGE,
    ]);
  });

  it('streams the summary part by part', async () => {
    proxy.use(reasoningThenText);
    const stream = client.openai.responses.stream({
      model: 'gpt-5.5',
      input: 'why?',
      reasoning: { summary: 'auto' },
    });
    await stream.finalResponse();
    const events = await client.lastEvents();
    const ofPart = (index: number): readonly Record<string, unknown>[] =>
      events.filter((event) => event['summary_index'] === index);
    for (const [index, part] of SUMMARY.entries()) {
      const deltas = ofPart(index).filter((event) => 'delta' in event);
      expect(deltas.map((event) => event['delta']).join('')).toBe(part.text);
      expect(ofPart(index).filter((event) => !deltas.includes(event))).toMatchObject([
        { type: 'response.reasoning_summary_part.added', part: { type: 'summary_text', text: '' } },
        { type: 'response.reasoning_summary_text.done', text: part.text },
        { type: 'response.reasoning_summary_part.done', part },
      ]);
    }
  });

  it('shows raw reasoning of a provider that gives it', async () => {
    proxy.use(says([{ reasoning: { summary: [], content: ['Thinking aloud.'] } }, { text: 'Done.' }]));
    const stream = client.openai.responses.stream({
      model: 'gpt-5.5',
      input: 'why?',
      reasoning: { summary: 'auto' },
    });
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Thinking aloud.' }] },
      { type: 'message' },
    ]);
  });

  it('goes back to the model as it was, before its call', async () => {
    proxy.use(
      says([
        { reasoning: { summary: ['Look it up.'], encrypted: 'opaque-1' } },
        { call: { name: 'look', arguments: { q: 1 }, callId: 'call_1' } },
      ]),
    );
    const ask = {
      model: 'gpt-5.5',
      include: ['reasoning.encrypted_content' as const],
      tools: [{ type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false }],
    };
    const first = await client.openai.responses.create({ ...ask, input: 'go' });
    proxy.use(hello);
    await client.openai.responses.create({
      ...ask,
      input: [
        { role: 'user', content: 'go' },
        ...(first.output as ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'call_1', output: 'found' },
      ],
    });
    expect(sentItems(proxy.model)).toMatchObject([
      { type: 'message', role: 'user' },
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Look it up.' }],
        encrypted_content: 'opaque-1',
      },
      { type: 'function_call', call_id: 'call_1', arguments: '{"q":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'found' },
    ]);
  });

  it('goes back to the model as it was, before its message', async () => {
    proxy.use(reasoningThenText);
    const ask = { model: 'gpt-5.5', include: ['reasoning.encrypted_content' as const] };
    const first = await client.openai.responses.create({ ...ask, input: 'why?' });
    proxy.use(hello);
    await client.openai.responses.create({
      ...ask,
      input: [
        { role: 'user', content: 'why?' },
        ...(first.output as ResponseInputItem[]),
        { role: 'user', content: 'and?' },
      ],
    });
    expect(sentItems(proxy.model)).toMatchObject([
      { type: 'message', role: 'user' },
      { type: 'reasoning', summary: SUMMARY, encrypted_content: 'opaque-reasoning' },
      { type: 'message', role: 'assistant', content: [{ text: 'The answer is 42.' }] },
      { type: 'message', role: 'user' },
    ]);
  });

  it('has no place in an answer that must begin with its message, and is named', async () => {
    proxy.use(reasoningThenText);
    const answer = await proxy.post(
      '/v1/responses',
      {
        model: 'gpt-5.5',
        input: 'why?',
        reasoning: { summary: 'auto' },
        include: ['reasoning.encrypted_content'],
      },
      { headers: { 'x-proxy-output-layout': 'message-first' } },
    );
    const { output } = (await answer.json()) as { output: unknown[] };
    expect(output).toMatchObject([MESSAGE]);
    expect(output).toHaveLength(1);
    expect(answer.headers.get('x-proxy-ignored-params')).toBe(
      'reasoning.summary, include.reasoning.encrypted_content',
    );
  });
});
