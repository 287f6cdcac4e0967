import { describe, expect, it } from 'vitest';

import { refusal, user } from '../../../../test/support/responses-ask.ts';

describe('toTurnRequest', () => {
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
      'a prompt template without input',
      { model: 'm', prompt: { id: 'pmpt_1' } },
      {
        code: 'unsupported_parameter',
        param: 'prompt',
        message:
          "Unsupported parameter: 'prompt'. Prompt templates are stored at OpenAI and cannot be read from here.",
      },
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
      { model: 'm', input: 'x', verbosity: 'low' },
      {
        code: 'unsupported_parameter',
        param: 'verbosity',
        message:
          "Unsupported parameter: 'verbosity'. In the Responses API, this parameter has moved to 'text.verbosity'.",
      },
    ],
    [
      'two conversations',
      { model: 'm', input: 'x', previous_response_id: 'resp_1', conversation: 'conv_1' },
      {
        code: 'mutually_exclusive_parameters',
        param: 'previous_response_id',
        message:
          "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Send one of them: a response of a conversation continues that conversation.",
      },
    ],
    [
      'an item of no type',
      { model: 'm', input: [user('a'), { type: 7 }] },
      {
        code: 'invalid_type',
        param: 'input[1].type',
        message: "Invalid type for 'input[1].type': expected a string, but got an integer instead.",
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
        code: 'unpaired_tool_call',
        param: 'input',
        message: 'No tool output found for function call c.',
      },
    ],
    [
      'a tool of no type',
      { model: 'm', input: 'x', tools: [{ name: 'f' }] },
      {
        code: 'missing_required_parameter',
        param: 'tools[0].type',
        message: "Missing required parameter: 'tools[0].type'.",
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
      'a file that is not on the web',
      {
        model: 'm',
        input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'file:///etc/passwd' }] }],
      },
      {
        code: 'invalid_value',
        param: 'input[0].content[0].file_url',
        message: "Invalid 'input[0].content[0].file_url': expected an http or https URL.",
      },
    ],
    [
      'a file that is nowhere',
      { model: 'm', input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a.pdf' }] }] },
      {
        code: 'missing_required_parameter',
        param: 'input[0].content[0].file_data',
        message: "Missing required parameter: 'input[0].content[0].file_data'.",
      },
    ],
  ])('rejects %s', (_, body, expected) => {
    expect(refusal(body)).toEqual({ status: 400, ...expected });
  });
});
