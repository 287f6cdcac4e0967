import { describe, expect, it } from 'vitest';

import { validateOpenResponse, validateResponse } from '../../../test/support/schema.ts';
import type { Reply } from '../../canonical/accumulate.ts';
import { failure } from '../../canonical/failure.ts';
import type { Message, Produced, Reasoning } from '../../canonical/item.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import { projectItem, projectReply, projectStarted, type ResponseMeta } from './project.ts';

const meta = (different: Partial<ResponseMeta> = {}): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  given: { model: 'gpt-5.5' },
  tools: [],
  effort: null,
  serviceTier: null,
  includeEncryptedReasoning: false,
  usagePolicy: 'exact',
  ...different,
});
const MESSAGE: Produced<Message> = {
  kind: 'message',
  id: 'msg_1',
  role: 'assistant',
  parts: [{ kind: 'text', text: 'Hello' }],
  status: 'completed',
};
const reply = (different: Partial<Reply> = {}): Reply => ({
  items: [MESSAGE],
  outcome: { kind: 'completed' },
  usage: null,
  endedAt: 1_800_000_009_999,
  ...different,
});

const STANDARD = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_800_000_000,
  created: 1_800_000_000,
  completed_at: null,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'gpt-5.5',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  background: false,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  truncation: 'disabled',
  usage: null,
  metadata: {},
};

describe('projectStarted', () => {
  it('has every key that a response has', () => {
    const body = projectStarted(meta());
    expect(body).toEqual(STANDARD);
    expect([...validateResponse(body), ...validateOpenResponse(body)]).toEqual([]);
  });

  it('gives back what the client asked for', () => {
    const schema = { type: 'object', properties: {} };
    const tool = { kind: 'function' as const, name: 'f', description: null, parameters: null, strict: null };
    const body = projectStarted(
      meta({
        given: {
          model: 'gpt-5.5-high',
          instructions: 'Be kind.',
          max_output_tokens: 100,
          max_tool_calls: 2,
          parallel_tool_calls: false,
          prompt_cache_key: 'k',
          prompt_cache_retention: '24h',
          reasoning: { generate_summary: 'concise' },
          safety_identifier: 's',
          store: true,
          temperature: 0,
          top_p: 0.5,
          presence_penalty: -1,
          frequency_penalty: 1,
          top_logprobs: 3,
          text: { format: { type: 'json_schema', name: 'n', schema }, verbosity: 'low' },
          tool_choice: { type: 'function', name: 'f' },
          truncation: 'auto',
          metadata: { a: 'b' },
          user: 'u',
        },
        tools: [tool],
        effort: 'high',
        serviceTier: 'flex',
      }),
    );
    expect(body).toEqual({
      ...STANDARD,
      model: 'gpt-5.5-high',
      instructions: 'Be kind.',
      max_output_tokens: 100,
      max_tool_calls: 2,
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      reasoning: { effort: 'high', summary: 'concise' },
      safety_identifier: 's',
      service_tier: 'flex',
      // Nothing is stored here, whatever was asked.
      store: false,
      temperature: 0,
      top_p: 0.5,
      presence_penalty: -1,
      frequency_penalty: 1,
      top_logprobs: 3,
      text: {
        format: { type: 'json_schema', name: 'n', schema, strict: false },
        verbosity: 'low',
      },
      tool_choice: { type: 'function', name: 'f' },
      tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: false }],
      truncation: 'auto',
      metadata: { a: 'b' },
      user: 'u',
    });
    expect(validateResponse(body)).toEqual([]);
  });
});

describe('projectReply', () => {
  const ended = (outcome: Outcome): unknown => {
    const body = projectReply(reply({ outcome }), meta());
    expect([...validateResponse(body), ...validateOpenResponse(body)]).toEqual([]);
    const { status, error, incomplete_details, completed_at } = body;
    return { status, error, incomplete_details, completed_at };
  };
  const failed = (code: string, message: string) => ({
    status: 'failed',
    error: { code, message },
    incomplete_details: null,
    completed_at: null,
  });

  it.each([
    [
      { kind: 'completed' },
      { status: 'completed', error: null, incomplete_details: null, completed_at: 1_800_000_009 },
    ],
    [
      { kind: 'tool-calls' },
      { status: 'completed', error: null, incomplete_details: null, completed_at: 1_800_000_009 },
    ],
    [
      { kind: 'incomplete', reason: 'content_filter' },
      {
        status: 'incomplete',
        error: null,
        incomplete_details: { reason: 'content_filter' },
        completed_at: null,
      },
    ],
    [
      { kind: 'failed', failure: failure('upstream_error') },
      failed('server_error', 'The upstream had an error while processing the request.'),
    ],
    [
      { kind: 'failed', failure: failure('insufficient_quota', { message: 'Used up.' }) },
      failed('rate_limit_exceeded', 'Used up.'),
    ],
    [
      { kind: 'failed', failure: failure('context_length_exceeded', { message: 'Too long.' }) },
      failed('invalid_prompt', 'Too long.'),
    ],
    [
      { kind: 'failed', failure: failure('invalid_image', { message: 'No image.' }) },
      failed('invalid_image', 'No image.'),
    ],
  ] as const)('%j', (outcome, expected) => {
    expect(ended(outcome)).toEqual(expected);
  });

  const USAGE = {
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteInputTokens: 3,
    outputTokens: 7,
    reasoningTokens: 5,
    totalTokens: 17,
  };
  it.each([
    ['exact', null, null],
    [
      'zeros',
      null,
      {
        input_tokens: 0,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 0,
      },
    ],
    [
      'exact',
      USAGE,
      {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 17,
      },
    ],
  ] as const)('usage: %s of %j', (usagePolicy, usage, expected) => {
    expect(projectReply(reply({ usage }), meta({ usagePolicy })).usage).toEqual(expected);
  });
});

describe('projectItem', () => {
  const shown = { includeEncryptedReasoning: true };
  const reasoning: Produced<Reasoning> = {
    kind: 'reasoning',
    id: 'rs_1',
    summary: ['a', 'b'],
    content: ['raw'],
    encryptedContent: 'opaque',
    status: 'completed',
  };

  it.each([
    [
      'a message',
      { ...MESSAGE, phase: 'commentary', status: 'incomplete' } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'incomplete',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'Hello' }],
        phase: 'commentary',
      },
    ],
    [
      'a refusal',
      { ...MESSAGE, parts: [{ kind: 'refusal', text: 'No.' }] } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No.' }],
      },
    ],
    [
      'a text that breaks off with a refusal',
      {
        ...MESSAGE,
        parts: [
          { kind: 'text', text: 'Well' },
          { kind: 'refusal', text: 'No.' },
        ],
      } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', annotations: [], logprobs: [], text: 'Well' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ],
    [
      'reasoning',
      reasoning,
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'a' },
          { type: 'summary_text', text: 'b' },
        ],
        content: [{ type: 'reasoning_text', text: 'raw' }],
        encrypted_content: 'opaque',
      },
    ],
    [
      'reasoning without anything',
      { kind: 'reasoning', id: 'rs_1', summary: [], content: [] } as const,
      { id: 'rs_1', type: 'reasoning', summary: [] },
    ],
    [
      'a call',
      { kind: 'tool-call', id: 'fc_1', tool: 'function', callId: 'call_1', name: 'f', input: '{}' } as const,
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        arguments: '{}',
      },
    ],
    [
      'a call of a custom tool',
      { kind: 'tool-call', id: 'ctc_1', tool: 'custom', callId: 'call_1', name: 'f', input: 'x' } as const,
      {
        id: 'ctc_1',
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        input: 'x',
      },
    ],
    [
      'a hosted call, under our id',
      {
        kind: 'hosted-call',
        id: 'ws_2',
        raw: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      } as const,
      { type: 'web_search_call', id: 'ws_2', status: 'completed' },
    ],
    [
      'a hosted call that was cut off',
      {
        kind: 'hosted-call',
        id: 'ws_1',
        raw: { type: 'web_search_call', id: 'ws_1', status: 'searching' },
        status: 'incomplete',
      } as const,
      { type: 'web_search_call', id: 'ws_1', status: 'failed' },
    ],
    [
      'a compaction',
      { kind: 'compaction', id: 'cmp_1', encryptedContent: 'e' } as const,
      { id: 'cmp_1', type: 'compaction', encrypted_content: 'e' },
    ],
    [
      'an item of a type that nobody knows',
      { kind: 'opaque', id: 'x_1', raw: { type: 'new', strange: [1] } } as const,
      { type: 'new', strange: [1], id: 'x_1' },
    ],
  ])('%s', (_, item, expected) => {
    expect(projectItem(item, shown)).toEqual(expected);
  });

  it('keeps encrypted reasoning from a client that did not ask for it', () => {
    expect(projectItem(reasoning, { includeEncryptedReasoning: false })).not.toHaveProperty(
      'encrypted_content',
    );
  });
});
