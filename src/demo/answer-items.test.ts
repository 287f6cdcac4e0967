import { describe, expect, it } from 'vitest';

import { eventsFor, inner, closeServers } from '../../test/support/answered-steps.ts';

closeServers();

const lastResponse = (events: readonly Record<string, unknown>[]): unknown => ({
  type: events.at(-1)?.['type'],
  response: events.at(-1)?.['response'],
});

const messageItem = (status: string, content: readonly unknown[]) => ({
  id: 'msg_2',
  type: 'message',
  status,
  role: 'assistant',
  content,
});

describe('answer', () => {
  it('writes the complete event sequence of a text', async () => {
    const events = await eventsFor([{ text: 'Hi there', phase: 'final_answer' }]);
    const at = { item_id: 'msg_2', output_index: 0, content_index: 0 };
    const part = { type: 'output_text', annotations: [], logprobs: [], text: 'Hi there' };
    const item = {
      id: 'msg_2',
      type: 'message',
      status: 'completed',
      phase: 'final_answer',
      role: 'assistant',
      content: [part],
    };
    expect(events.slice(0, 2).map((event) => event['type'])).toEqual([
      'response.created',
      'response.in_progress',
    ]);
    expect(inner(events)).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      { type: 'response.output_text.delta', ...at, logprobs: [], delta: 'Hi' },
      { type: 'response.output_text.delta', ...at, logprobs: [], delta: ' there' },
      { type: 'response.output_text.done', ...at, text: 'Hi there', logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
    expect(lastResponse(events)).toEqual({
      type: 'response.completed',
      response: {
        id: 'resp_1',
        object: 'response',
        created_at: 1_700_000_000,
        completed_at: 1_700_000_000,
        status: 'completed',
        background: false,
        error: null,
        frequency_penalty: 0,
        incomplete_details: null,
        instructions: null,
        max_output_tokens: null,
        max_tool_calls: null,
        metadata: {},
        model: 'gpt-x',
        output: [item],
        parallel_tool_calls: true,
        presence_penalty: 0,
        previous_response_id: null,
        prompt_cache_key: null,
        reasoning: { effort: null, summary: null },
        safety_identifier: null,
        service_tier: 'default',
        store: false,
        temperature: 0.5,
        text: { format: { type: 'text' } },
        tool_choice: 'auto',
        tools: [],
        top_logprobs: 0,
        top_p: 1,
        truncation: 'disabled',
        usage: {
          input_tokens: 1,
          input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 3,
        },
      },
    });
  });

  it('writes annotations', async () => {
    const annotation = {
      type: 'url_citation',
      url: 'https://example.com/',
      title: 'x',
      start_index: 0,
      end_index: 2,
    };
    const events = await eventsFor([{ text: 'Hi', annotations: [annotation] }]);
    expect(events.filter((event) => event['type'] === 'response.output_text.annotation.added')).toEqual([
      {
        type: 'response.output_text.annotation.added',
        item_id: 'msg_2',
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation,
      },
    ]);
  });

  it('writes reasoning', async () => {
    const at = { item_id: 'rs_2', output_index: 0 };
    const summary = { type: 'summary_text', text: 'A plan' };
    const raw = { type: 'reasoning_text', text: 'Hm' };
    const step = { reasoning: { summary: ['A plan'], encrypted: 'xyz', content: ['Hm'] }, chunkSize: 99 };
    expect(inner(await eventsFor([step]))).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'rs_2', type: 'reasoning', summary: [] },
      },
      {
        type: 'response.reasoning_summary_part.added',
        ...at,
        summary_index: 0,
        part: { ...summary, text: '' },
      },
      { type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: 'A plan' },
      { type: 'response.reasoning_summary_text.done', ...at, summary_index: 0, text: 'A plan' },
      { type: 'response.reasoning_summary_part.done', ...at, summary_index: 0, part: summary },
      { type: 'response.content_part.added', ...at, content_index: 0, part: { ...raw, text: '' } },
      { type: 'response.reasoning_text.delta', ...at, content_index: 0, delta: 'Hm' },
      { type: 'response.reasoning_text.done', ...at, content_index: 0, text: 'Hm' },
      { type: 'response.content_part.done', ...at, content_index: 0, part: raw },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { id: 'rs_2', type: 'reasoning', summary: [summary], content: [raw], encrypted_content: 'xyz' },
      },
    ]);
  });

  it('writes a call, with arguments in the deltas and the final item only', async () => {
    const call = { name: 'f', arguments: '{ "a":1}', namespace: 'functions' };
    const item = {
      id: 'fc_2',
      type: 'function_call',
      status: 'completed',
      arguments: '{ "a":1}',
      call_id: 'call_3',
      name: 'f',
      namespace: 'functions',
    };
    const at = { item_id: 'fc_2', output_index: 0 };
    expect(inner(await eventsFor([{ call, chunkSize: 5 }]))).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', ...at, delta: '{ "a"' },
      { type: 'response.function_call_arguments.delta', ...at, delta: ':1}' },
      { type: 'response.function_call_arguments.done', ...at, name: 'f', arguments: '{ "a":1}' },
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
  });

  it('writes a refusal', async () => {
    const at = { item_id: 'msg_2', output_index: 0, content_index: 0 };
    expect(inner(await eventsFor([{ refusal: 'No.' }]))).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: messageItem('in_progress', []) },
      { type: 'response.content_part.added', ...at, part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', ...at, delta: 'No.' },
      { type: 'response.refusal.done', ...at, refusal: 'No.' },
      { type: 'response.content_part.done', ...at, part: { type: 'refusal', refusal: 'No.' } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: messageItem('completed', [{ type: 'refusal', refusal: 'No.' }]),
      },
    ]);
  });

  it('writes an item of any type, and adds its id and index to its events', async () => {
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AA==' };
    const initial = { ...item, status: 'in_progress', result: null };
    const preview = {
      type: 'response.image_generation_call.partial_image',
      partial_image_b64: 'AA==',
      partial_image_index: 0,
    };
    const step = { item, initial, events: [preview] };
    const received = (await eventsFor([{ text: 'x' }, step, { ...step, end: 'open' }])).slice(2);
    expect(received.filter((event) => event['output_index'] !== 0)).toMatchObject([
      { type: 'response.output_item.added', output_index: 1, item: initial },
      { ...preview, item_id: 'ig_1', output_index: 1 },
      { type: 'response.output_item.done', output_index: 1, item },
      { type: 'response.output_item.added', output_index: 2, item: initial },
      { ...preview, item_id: 'ig_1', output_index: 2 },
      { type: 'response.completed' },
    ]);
  });

  it('numbers the items of all types in one sequence', async () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    };
    const events = await eventsFor([{ item: search }, { text: 'x' }, { call: { name: 'f', arguments: {} } }]);
    expect(
      events
        .filter((event) => event['type'] === 'response.output_item.added')
        .map((event) => event['output_index']),
    ).toEqual([0, 1, 2]);
  });
});
