import { describe, expect, it } from 'vitest';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

import { hello, inTurn, reasoningThenText, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const { proxy, client } = await openChecked(reasoningThenText);

const SUMMARY = [
  { type: 'summary_text', text: '**Looking**\n\nAt the question.' },
  { type: 'summary_text', text: '**Deciding**\n\nOn the answer.' },
];
const LOOK = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false } as const;
const MESSAGE = { type: 'message', content: [{ text: 'The answer is 42.' }] };

describe('reasoning', () => {
  it('is returned even if not requested, without the encrypted content', async () => {
    proxy.use(reasoningThenText);
    const { output } = await client.openai.responses.create({ model: 'gpt-5.5', input: 'why?' });
    expect(output).toEqual([
      { id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: SUMMARY },
      expect.objectContaining({ type: 'message' }),
    ]);
  });

  it('has a summary if requested, without the encrypted content', async () => {
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

  it('has encrypted content if requested', async () => {
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

  it('is returned as raw text if a provider sends it, as gpt-oss does, and is sent back to the model', async () => {
    const raw = { type: 'reasoning_text', text: 'Thinking aloud.' };
    const call = { name: 'look', arguments: { q: 1 }, callId: 'call_raw' };
    proxy.use(inTurn(says([{ reasoning: { summary: [], content: [raw.text] } }, { call }]), hello));
    const ask = { model: 'gpt-oss-120b', tools: [LOOK] };
    const stream = client.openai.responses.stream({ ...ask, input: 'why?' });
    const { output } = await stream.finalResponse();
    const shown = { id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: [], content: [raw] };
    expect(output[0]).toEqual(shown);
    const events = (await client.lastEvents()).filter((event) => event['output_index'] === 0);
    const deltas = events.filter(({ type }) => type === 'response.reasoning_text.delta');
    expect(deltas.map((event) => event['delta']).join('')).toBe(raw.text);
    expect(events.filter((event) => !deltas.includes(event))).toMatchObject([
      { type: 'response.output_item.added', item: { type: 'reasoning', summary: [] } },
      { type: 'response.content_part.added', content_index: 0, part: { ...raw, text: '' } },
      { type: 'response.reasoning_text.done', content_index: 0, text: raw.text },
      { type: 'response.content_part.done', content_index: 0, part: raw },
      { type: 'response.output_item.done', item: shown },
    ]);
    await client.openai.responses.create({
      ...ask,
      input: [
        { role: 'user', content: 'why?' },
        { type: 'reasoning', id: output[0]?.id ?? '', summary: [], content: [raw] } as ResponseInputItem,
        { type: 'function_call', call_id: 'call_raw', name: 'look', arguments: '{"q":1}' },
        { type: 'function_call_output', call_id: 'call_raw', output: 'found' },
      ],
    });
    expect(sentItems(proxy.model)).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', summary: [], content: [raw] },
      { type: 'function_call', call_id: 'call_raw' },
      { type: 'function_call_output', output: 'found' },
    ]);
  });

  it('is sent back to the model unchanged, before its call', async () => {
    proxy.use(
      says([
        { reasoning: { summary: ['Look it up.'], encrypted: 'opaque-1' } },
        { call: { name: 'look', arguments: { q: 1 }, callId: 'call_1' } },
      ]),
    );
    const ask = {
      model: 'gpt-5.5',
      include: ['reasoning.encrypted_content' as const],
      tools: [LOOK],
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

  it('is sent back to the model unchanged, before its message', async () => {
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

  it('is omitted from an answer that must begin with its message, and named', async () => {
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
