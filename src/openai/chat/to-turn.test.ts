import { describe, expect, it } from 'vitest';

import type { Failure } from '../../canonical/failure/failure.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import { refused } from '../../../test/support/refused.ts';
import { chatToTurn, type ParsedChat } from './to-turn.ts';
import { knownModel, modelList } from '../../../test/support/models.ts';

const models = createModelNames(modelList([knownModel('gpt-5.5', { serviceTiers: ['priority'] })]));
const user = { role: 'user', content: 'hi' };

const read = (body: unknown, ignoreClientPrompt = false): ParsedChat =>
  chatToTurn(body, { models, ignoreClientPrompt });

const refusalOf = (body: unknown): Failure => refused(() => read(body));
const say = (body: unknown): string => {
  const { status, code, param, message } = refusalOf(body);
  return `${status} ${code} ${param ?? '-'}: ${message}`;
};
const withMessages = (...messages: unknown[]): string => say({ model: 'm', messages });
const withParams = (some: object): string => say({ model: 'm', messages: [user], ...some });

// Successful requests are tested in test/golden/chat-payloads.test.ts.

describe('rejected messages', () => {
  it('are missing or empty', () => {
    expect(say({ model: 'm' })).toBe(
      "400 missing_required_parameter messages: Missing required parameter: 'messages'.",
    );
    expect(withMessages()).toBe(
      "400 empty_array messages: Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    );
    expect(say([])).toBe('400 invalid_type -: Invalid body: expected a JSON object.');
  });

  it('have an unknown role or none', () => {
    expect(withMessages(user, { role: 'robot', content: 'x' })).toBe(
      "400 invalid_value messages[1].role: Invalid value: 'robot'. Supported values are: 'system', 'developer', 'user', 'assistant', 'tool', and 'function'.",
    );
    expect(withMessages({ content: 'x' })).toBe(
      "400 missing_required_parameter messages[0].role: Missing required parameter: 'messages[0].role'.",
    );
    expect(withMessages('hi')).toBe(
      '400 invalid_type messages[0]: Invalid type for \'messages[0]\': expected an object, but got "hi" instead.',
    );
  });

  it('have no content where OpenAI requires it', () => {
    const noContent = (index: number): string =>
      `400 invalid_type messages[${index}].content: Invalid value for 'messages[${index}].content': expected a string, got null.`;
    expect(withMessages({ role: 'user', content: null })).toBe(noContent(0));
    expect(withMessages(user, { role: 'assistant', content: null })).toBe(noContent(1));
    expect(withMessages(user, { role: 'assistant' })).toBe(noContent(1));
    expect(withMessages({ role: 'user', content: [] })).toBe(
      "400 empty_array messages[0].content: Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    );
  });

  it('have parts that their role does not allow', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
    expect(withMessages({ role: 'system', content: [image] }, user)).toBe(
      "400 invalid_value messages[0].content[0].type: Invalid value: 'image_url'. Supported values are: 'text'.",
    );
    expect(withMessages({ role: 'user', content: [{ type: 'refusal', refusal: 'x' }] })).toBe(
      "400 invalid_value messages[0].content[0].type: Invalid value: 'refusal'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
    );
    expect(withMessages({ role: 'user', content: [{ type: 'image_url', image_url: 'x' }] })).toBe(
      "400 invalid_type messages[0].content[0].image_url: Invalid type for 'messages[0].content[0].image_url': expected an object, but got a string instead.",
    );
    expect(withMessages({ role: 'user', content: [{ type: 'file', file: { filename: 'f' } }] })).toBe(
      "400 missing_required_parameter messages[0].content[0].file.file_data: Missing required parameter: 'messages[0].content[0].file.file_data'.",
    );
    expect(withMessages(user, { role: 'assistant', audio: { id: 'audio_1' } })).toBe(
      '400 unsupported_value messages[1].audio: Audio answers are not stored and cannot be referred to.',
    );
  });

  const called = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const calls = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(called) });
  const output = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });

  it('have a call without an output, or an output without a call', () => {
    expect(withMessages(user, calls('a', 'b'), output('a'))).toBe(
      "400 invalid_value messages[1].tool_calls[1]: An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b (messages[1].tool_calls[1]).",
    );
    expect(withMessages(user, output('a'))).toBe(
      "400 invalid_value messages[1].role: Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[1], tool_call_id a).",
    );
    expect(withMessages(user, calls('a'), output('a'), output('a'))).toBe(
      '400 invalid_value messages[3].tool_call_id: Duplicate tool message with tool_call_id a (messages[3]).',
    );
    expect(withMessages(user, calls('a', 'a'), output('a'))).toBe(
      '400 invalid_value messages[1].tool_calls[1].id: Duplicate tool call with id a (messages[1].tool_calls[1]).',
    );
  });

  it('have the same problem in the legacy form', () => {
    const call = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
    expect(withMessages(user, call)).toBe(
      "400 invalid_value messages[1].function_call: An assistant message with 'function_call' must be followed by a function message responding to it (messages[1].function_call).",
    );
    expect(withMessages(user, call, { role: 'function', name: 'g', content: 'x' })).toBe(
      "400 invalid_value messages[2].role: Invalid parameter: messages with role 'function' must be a response to a preceding message with 'function_call' ('g' was not called).",
    );
  });

  it('have a call of an unknown type', () => {
    expect(withMessages(user, { role: 'assistant', tool_calls: [{ id: 'a', type: 'x' }] })).toBe(
      "400 invalid_value messages[1].tool_calls[0].type: Invalid value: 'x'. Supported values are: 'function' and 'custom'.",
    );
    expect(withMessages(user, { role: 'assistant', tool_calls: [3] })).toBe(
      "400 missing_required_parameter messages[1].tool_calls[0].type: Missing required parameter: 'messages[1].tool_calls[0].type'.",
    );
  });
});

describe('messages without a user message', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

  it.each([
    [
      'a system prompt alone',
      [{ role: 'system', content: 'be kind' }],
      [{ kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'be kind' }] }],
    ],
    [
      'a developer prompt alone',
      [{ role: 'developer', content: 'be kind' }],
      [{ kind: 'message', role: 'developer', parts: [{ kind: 'text', text: 'be kind' }] }],
    ],
    [
      'a call and its output',
      [
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c', content: '1' },
      ],
      [
        { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}' },
        { kind: 'tool-output', tool: 'function', callId: 'c', output: '1' },
      ],
    ],
    [
      'an empty answer alone',
      [{ role: 'assistant', content: '' }],
      [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: '' }] }],
    ],
  ])('%s', (_, messages, items) => {
    expect(read({ model: 'm', messages }).request.items).toEqual(items);
  });

  it("have OpenAI's limits", () => {
    const { parsed, request } = read({ model: 'm', messages: [user], n: 128, top_p: 0 });
    expect([parsed.n, request.sampling.topP]).toEqual([128, 0]);
  });
});

describe('rejected parameters', () => {
  it.each([
    [{ temperature: 2.1 }, 'temperature', 'decimal_above_max_value'],
    [{ temperature: -1 }, 'temperature', 'decimal_below_min_value'],
    [{ temperature: '1' }, 'temperature', 'invalid_type'],
    [{ top_p: -0.1 }, 'top_p', 'decimal_below_min_value'],
    [{ top_p: 1.5 }, 'top_p', 'decimal_above_max_value'],
    [{ presence_penalty: 3 }, 'presence_penalty', 'decimal_above_max_value'],
    [{ frequency_penalty: -2.5 }, 'frequency_penalty', 'decimal_below_min_value'],
    [{ n: 0 }, 'n', 'integer_below_min_value'],
    [{ n: 129 }, 'n', 'integer_above_max_value'],
    [{ n: 1.5 }, 'n', 'invalid_type'],
    [{ max_tokens: 0 }, 'max_tokens', 'integer_below_min_value'],
    [{ max_completion_tokens: -1 }, 'max_completion_tokens', 'integer_below_min_value'],
    [{ stop: '' }, 'stop', 'string_below_min_length'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', 'array_above_max_length'],
    [{ stop: 5 }, 'stop', 'invalid_type'],
    [{ stop: ['a', 1] }, 'stop[1]', 'invalid_type'],
    [{ seed: 'x' }, 'seed', 'invalid_type'],
    [{ logit_bias: { '1': 101 } }, 'logit_bias.1', 'decimal_above_max_value'],
    [{ logit_bias: { word: 1 } }, 'logit_bias.word', 'invalid_value'],
    [{ stream: 'true' }, 'stream', 'invalid_type'],
    [{ parallel_tool_calls: 'false' }, 'parallel_tool_calls', 'invalid_type'],
    [{ stream_options: { include_usage: true } }, 'stream_options', 'invalid_value'],
    [{ max_tokens: 1, max_completion_tokens: 1 }, 'max_tokens', 'invalid_value'],
    [{ top_logprobs: 2 }, 'top_logprobs', 'invalid_value'],
    [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs', 'integer_above_max_value'],
    [{ modalities: ['text', 'audio'] }, 'modalities', 'unsupported_value'],
    [{ modalities: ['smell'] }, 'modalities[0]', 'invalid_value'],
    [
      { web_search_options: { search_context_size: 'huge' } },
      'web_search_options.search_context_size',
      'invalid_value',
    ],
    [{ tools: [{ type: 'web_search' }, { type: 'computer_use_preview' }] }, 'tools[1]', 'unsupported_tool'],
    [{ reasoning_effort: 'huge' }, 'reasoning_effort', 'invalid_value'],
    [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning.effort', 'invalid_value'],
    [{ verbosity: 'loud' }, 'verbosity', 'invalid_value'],
    [{ service_tier: 'gold' }, 'service_tier', 'invalid_value'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
    [{ prompt: 3 }, 'prompt', 'invalid_type'],
    [{ response_format: { type: 'xml' } }, 'response_format.type', 'invalid_value'],
    [
      { response_format: { type: 'json_schema' } },
      'response_format.json_schema',
      'missing_required_parameter',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
      'response_format.json_schema.schema',
      'missing_required_parameter',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a b', schema: {} } } },
      'response_format.json_schema.name',
      'invalid_value',
    ],
    [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name', 'missing_required_parameter'],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools[0].function.name', 'invalid_value'],
    [{ tools: [{ name: 'x' }] }, 'tools[0].type', 'missing_required_parameter'],
    [{ tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
    [{ tool_choice: 'any' }, 'tool_choice', 'invalid_value'],
    [{ tool_choice: { type: 'custom', custom: { name: 'x' } } }, 'tool_choice.custom.name', 'invalid_value'],
    [
      { tool_choice: { type: 'function', function: { name: 'x' } } },
      'tool_choice.function.name',
      'invalid_value',
    ],
    [{ functions: [] }, 'functions', 'array_below_min_length'],
    [{ functions: [{ name: 'f' }], tools: [] }, 'functions', 'invalid_value'],
    [{ functions: [{ name: 'f' }], function_call: { name: 'g' } }, 'function_call.name', 'invalid_value'],
    [{ function_call: { name: 'g' } }, 'function_call.name', 'invalid_value'],
  ])('%j', (some, param, code) => {
    const failed = refusalOf({ model: 'm', messages: [user], ...some });
    expect([failed.status, failed.param, failed.code]).toEqual([400, param, code]);
  });

  it('have a helpful message', () => {
    expect(withParams({ stream_options: {} })).toBe(
      "400 invalid_value stream_options: The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    );
    expect(withParams({ n: 129 })).toBe(
      "400 integer_above_max_value n: Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead.",
    );
    expect(withParams({ tool_choice: 'any' })).toBe(
      "400 invalid_value tool_choice: Invalid value: 'any'. Supported values are: 'none', 'auto', 'required', 'function', 'custom', and 'allowed_tools'.",
    );
  });
});

describe('a deployment without client system prompts', () => {
  it('drops them and names them', () => {
    const { request, names, ignored } = read(
      { model: 'm', messages: [{ role: 'system', content: 's' }, user, { role: 'developer', content: 'd' }] },
      true,
    );
    expect(request.items).toEqual([{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }]);
    expect(names.places).toEqual(['messages[1]']);
    expect(ignored).toEqual(['messages[0]', 'messages[2]']);
  });

  it('rejects a request that has nothing else', () => {
    const failed = refused(() => read({ model: 'm', messages: [{ role: 'system', content: 's' }] }, true));
    expect(failed).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'messages[0]',
      message:
        "Invalid 'messages[0]': this server ignores system and developer messages, and the request contains no other message. Send a user message.",
    });
  });
});
