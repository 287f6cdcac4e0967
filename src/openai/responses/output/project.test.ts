import { describe, expect, it } from 'vitest';

import { responseMeta } from '../../../../test/support/response-meta.ts';
import { saidMessage } from '../../../../test/support/item-events.ts';
import { functionTool } from '../../../../test/support/turn-request.ts';
import { validateOpenResponse, validateResponse } from '../../../../test/support/schema.ts';
import type { Reply } from '../../../canonical/events/accumulate.ts';
import { failure } from '../../../canonical/failure/failure.ts';
import type { Outcome } from '../../../canonical/events/turn-event.ts';
import { projectReply, projectStarted, type ResponseMeta } from './project.ts';

const meta = (different: Partial<ResponseMeta> = {}): ResponseMeta =>
  responseMeta({ includeEncryptedReasoning: false, ...different });
const reply = (different: Partial<Reply> = {}): Reply => ({
  items: [saidMessage('msg_1', 'Hello')],
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
  it('has every key of a response', () => {
    const body = projectStarted(meta());
    expect(body).toEqual(STANDARD);
    expect([...validateResponse(body), ...validateOpenResponse(body)]).toEqual([]);
  });

  it('echoes the request', () => {
    const schema = { type: 'object', properties: {} };
    const body = projectStarted(
      meta({
        echo: {
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
        tools: [functionTool('f')],
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
      // Nothing is ever stored.
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
