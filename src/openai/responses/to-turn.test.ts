import { describe, expect, it } from 'vitest';

import { failureOf, type Failure } from '../../canonical/failure.ts';
import { createModelNames } from '../../canonical/model-names.ts';
import { toTurnRequest, type ToTurnOptions } from './to-turn.ts';
import { knownModel, modelList } from '../../../test/support/models.ts';

const models = createModelNames(
  modelList([
    knownModel('gpt-6', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
    knownModel('gpt-5.5', { efforts: ['low', 'medium'] }),
  ]),
);

const read = (body: unknown, options: Partial<ToTurnOptions> = {}) =>
  toTurnRequest(body, {
    models,
    ignoreClientPrompt: false,
    ...options,
  });

const refusal = (body: unknown): Pick<Failure, 'status' | 'code' | 'param' | 'message'> => {
  try {
    read(body);
  } catch (error) {
    const { status, code, param, message } = failureOf(error);
    return { status, code, param, message };
  }
  throw new Error('it was not refused');
};

const user = (text: string) => ({ role: 'user', content: text });

describe('toTurnRequest', () => {
  it('reads the smallest request', () => {
    expect(read({ model: 'gpt-5.5', input: 'hi' }).request).toEqual({
      model: 'gpt-5.5',
      instructions: null,
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
      places: ['input'],
      tools: [],
      toolChoice: { mode: 'auto' },
      parallelToolCalls: null,
      reasoning: { effort: null, effortName: 'reasoning.effort', summary: null },
      format: { kind: 'text' },
      verbosity: null,
      serviceTier: null,
      maxOutputTokens: null,
      stop: [],
      wire: [],
    });
  });

  it('keeps every item with its type, order, ids and argument strings', () => {
    const { request, ignored } = read({
      model: 'gpt-5.5',
      input: [
        { role: 'system', content: 's' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'd' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'input_file', filename: 'a.md', file_data: 'data:text/markdown;base64,IyBI' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 't' }],
          encrypted_content: 'E',
        },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
            { type: 'refusal', refusal: 'no' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{ "a" : 1}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'o' }] },
        { type: 'custom_tool_call', id: 'ctc', call_id: 'c2', name: 'g', input: 'raw' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'out' },
        { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
        { type: 'compaction', id: 'cmp', encrypted_content: 'Z' },
      ],
    });
    expect(ignored).toEqual([]);
    expect(request.items).toEqual([
      { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 's' }] },
      { kind: 'message', role: 'developer', parts: [{ kind: 'text', text: 'd' }] },
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'look' },
          { kind: 'image', url: 'data:image/png;base64,AAAA', detail: 'high' },
          { kind: 'audio', data: 'AAAA', format: 'wav' },
          { kind: 'text', text: 'a.md:\n\n# H' },
        ],
      },
      { kind: 'reasoning', id: 'rs_1', summary: ['t'], encryptedContent: 'E' },
      {
        kind: 'message',
        id: 'msg_1',
        role: 'assistant',
        phase: 'commentary',
        parts: [
          { kind: 'text', text: 'a' },
          { kind: 'refusal', text: 'no' },
        ],
      },
      { kind: 'tool-call', tool: 'function', callId: 'c1', name: 'f', input: '{ "a" : 1}' },
      { kind: 'tool-output', tool: 'function', callId: 'c1', output: [{ kind: 'text', text: 'o' }] },
      { kind: 'tool-call', tool: 'custom', id: 'ctc', callId: 'c2', name: 'g', input: 'raw' },
      { kind: 'tool-output', tool: 'custom', callId: 'c2', output: 'out' },
      {
        kind: 'hosted-call',
        id: 'ws',
        raw: {
          type: 'web_search_call',
          id: 'ws',
          status: 'completed',
          action: { type: 'search', query: 'q' },
        },
      },
      { kind: 'compaction', id: 'cmp', encryptedContent: 'Z' },
    ]);
  });

  it('leaves out an empty assistant message and still names later places rightly', () => {
    const empty = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: '', annotations: [] }],
    };
    expect(read({ model: 'm', input: [user('a'), empty, user('b')] }).request.places).toEqual([
      'input[0]',
      'input[2]',
    ]);
    expect(
      refusal({ model: 'm', input: [empty, { type: 'function_call_output', call_id: 'x', output: '' }] }),
    ).toEqual({
      status: 400,
      code: 'invalid_value',
      param: 'input[1]',
      message: 'No tool call found for function call output with call_id x (input[1]).',
    });
  });

  it('resolves aliases, and an explicit effort wins over the one of the alias', () => {
    const settings = (body: object) => {
      const { request } = read({ input: 'x', ...body });
      return [request.model, request.reasoning.effort];
    };
    expect([
      settings({ model: 'gpt-6-high' }),
      settings({ model: 'gpt-6-high', reasoning: { effort: 'low' } }),
      settings({ model: 'codex-5' }),
      settings({ model: 'codex-5.2-high' }),
      settings({ model: 'llama-high' }),
    ]).toEqual([
      ['gpt-6', 'high'],
      ['gpt-6', 'low'],
      ['gpt-6', null],
      ['gpt-6', 'high'],
      ['llama-high', null],
    ]);
  });

  it('names every field that has no effect, and none that asks for what happens anyway', () => {
    const { ignored } = read({
      model: 'llama',
      input: [{ role: 'user', content: 'x', name: 'bob' }],
      store: true,
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: true, defer_loading: true }],
      made_up: 1,
      reasoning: { effort: 'low', mode: 'x' },
    });
    expect(ignored).toEqual([
      'made_up',
      'reasoning.mode',
      'input[0].name',
      'tools[0].defer_loading',
      'store',
    ]);
    expect(read({ model: 'gpt-6', input: 'x', store: false, stream_options: {} }).ignored).toEqual([]);
  });

  it('keeps what only the wire can carry, under the name that the client gave it', () => {
    const { request } = read({
      model: 'llama',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,', detail: 'low' }] }],
      temperature: 0.5,
      top_p: 1,
      truncation: 'auto',
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      text: { verbosity: 'low' },
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: true }],
      tool_choice: 'required',
    });
    expect(request.wire).toEqual([
      { field: 'temperature', value: 0.5, name: 'temperature', matters: true },
      { field: 'top_p', value: 1, name: 'top_p', matters: false },
      { field: 'truncation', value: 'auto', name: 'truncation', matters: true },
      { field: 'metadata', value: { a: 'b' }, name: 'metadata', matters: false },
      {
        field: 'include',
        value: 'message.output_text.logprobs',
        name: 'include.message.output_text.logprobs',
        matters: true,
      },
      { field: 'tool_choice', value: 'required', name: 'tool_choice', matters: true },
      { field: 'text.verbosity', value: 'low', name: 'text.verbosity', matters: true },
      { field: 'input', value: 'low', name: 'input[0].content[0].detail', matters: true },
    ]);
    const plain = {
      truncation: 'disabled',
      text: { verbosity: 'low' },
      tool_choice: 'auto',
      top_logprobs: 0,
    };
    expect(read({ model: 'gpt-6', input: 'x', ...plain }).request.wire).toEqual([]);
  });

  it("leaves out the client's prompts when the deployment wants it so, and says so", () => {
    const { request, ignored } = read(
      { model: 'm', instructions: 'i', input: [{ role: 'developer', content: 'd' }, user('u')] },
      { ignoreClientPrompt: true },
    );
    expect([request.instructions, request.items.length, ignored, request.places]).toEqual([
      null,
      1,
      ['instructions', 'input[0]'],
      ['input[1]'],
    ]);
  });

  it.each([
    ['no body', [], { code: 'invalid_type', param: null, message: 'Invalid body: expected a JSON object.' }],
    [
      'no model',
      { input: 'x' },
      { code: 'missing_required_parameter', param: 'model', message: "Missing required parameter: 'model'." },
    ],
    [
      'no input',
      { model: 'm' },
      { code: 'missing_required_parameter', param: 'input', message: "Missing required parameter: 'input'." },
    ],
    [
      'empty input',
      { model: 'm', input: [] },
      {
        code: 'empty_array',
        param: 'input',
        message:
          "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      },
    ],
    [
      'a number as a string',
      { model: 'm', input: 'x', temperature: '1' },
      {
        code: 'invalid_type',
        param: 'temperature',
        message: "Invalid type for 'temperature': expected a decimal, but got a string instead.",
      },
    ],
    [
      'temperature too high',
      { model: 'm', input: 'x', temperature: 2.5 },
      {
        code: 'decimal_above_max_value',
        param: 'temperature',
        message:
          "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
      },
    ],
    [
      'max_output_tokens too low',
      { model: 'm', input: 'x', max_output_tokens: 1 },
      {
        code: 'integer_below_min_value',
        param: 'max_output_tokens',
        message:
          "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
      },
    ],
    [
      'an unknown effort',
      { model: 'm', input: 'x', reasoning: { effort: 'huge' } },
      {
        code: 'invalid_value',
        param: 'reasoning.effort',
        message:
          "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', and 'ultra'.",
      },
    ],
    [
      'two answers',
      { model: 'm', input: 'x', n: 2 },
      {
        code: 'unsupported_value',
        param: 'n',
        message: "Unsupported value: 'n' must be 1 in the Responses API.",
      },
    ],
    [
      'a parameter of chat',
      { model: 'm', input: 'x', response_format: { type: 'text' } },
      {
        code: 'unsupported_parameter',
        param: 'response_format',
        message:
          "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'.",
      },
    ],
    [
      'a stored response',
      { model: 'm', input: 'x', previous_response_id: 'resp_1' },
      {
        code: 'unsupported_parameter',
        param: 'previous_response_id',
        message:
          "Unsupported parameter: 'previous_response_id'. Responses are not stored yet: send the whole conversation as input.",
      },
    ],
    [
      'an unknown item',
      { model: 'm', input: [user('a'), { type: 'telepathy' }] },
      {
        code: 'invalid_value',
        param: 'input[1].type',
        message:
          "Invalid value: 'telepathy'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'compaction', 'web_search_call', and 'image_generation_call'.",
      },
    ],
    [
      'an unknown role',
      { model: 'm', input: [{ role: 'critic', content: 'x' }] },
      {
        code: 'invalid_value',
        param: 'input[0].role',
        message:
          "Invalid value: 'critic'. Supported values are: 'user', 'assistant', 'system', and 'developer'.",
      },
    ],
    [
      'a call without its output',
      { model: 'm', input: [user('a'), { type: 'function_call', call_id: 'c', name: 'f', arguments: '' }] },
      {
        code: 'invalid_value',
        param: 'input[1]',
        message: 'No tool output found for function call c (input[1]).',
      },
    ],
    [
      'a tool that is not served',
      { model: 'm', input: 'x', tools: [{ type: 'file_search' }] },
      {
        code: 'unsupported_tool',
        param: 'tools[0].type',
        message: `The tool type "file_search" at 'tools[0]' is not supported here. Supported: 'function'.`,
      },
    ],
    [
      'a choice of no such tool',
      { model: 'm', input: 'x', tool_choice: { type: 'function', name: 'g' } },
      {
        code: 'invalid_value',
        param: 'tool_choice',
        message: "Tool choice 'g' not found in 'tools' parameter.",
      },
    ],
    [
      'a file that is no text',
      {
        model: 'm',
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
            ],
          },
        ],
      },
      {
        code: 'unsupported_file',
        param: 'input[0].content[0].file_data',
        message:
          "The file 'a.pdf' is not a text file. Only text files (plain text, JSON, Markdown, CSV, source code) are supported as file input.",
      },
    ],
  ])('refuses %s', (_, body, expected) => {
    expect(refusal(body)).toEqual({ status: 400, ...expected });
  });
});
