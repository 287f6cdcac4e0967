import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { failureOf } from '../canonical/failure/failure.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
import { chatToTurn as readChat } from '../openai/chat/to-turn.ts';
import { messagesToTurn as readMessages } from '../anthropic/messages/input/to-turn.ts';
import { completionToTurn as readCompletion } from '../openai/completions/to-turn.ts';
import { parseResponse, toTurnRequest as readResponse } from '../openai/responses/input/to-turn.ts';
import { jsonObject, listOf } from './bounds.ts';
import { parseBody } from './validation.ts';

const OPTIONS = {
  models: createModelNames({ models: [], standard: null, unlisted: [] }),
  ignoreClientPrompt: false,
};

/** The error for a rejected value; null if it is accepted. */
const refusal = (read: () => unknown): unknown => {
  try {
    read();
    return null;
  } catch (error) {
    const { status, param, code, message } = failureOf(error);
    return { status, param, code, message };
  }
};
const tooLong = (param: string, kind: 'array' | 'string', max: number, length: number) => ({
  status: 400,
  param,
  code: `${kind}_above_max_length`,
  message: `Invalid '${param}': ${kind} too long. Expected ${kind === 'array' ? 'an array' : 'a string'} with maximum length ${max}, but got ${kind === 'array' ? 'an array' : 'a string'} with length ${length} instead.`,
});

const many = <One>(count: number, one: (index: number) => One): One[] =>
  Array.from({ length: count }, (_, index) => one(index));
const response = (more: object): unknown =>
  refusal(() => readResponse(parseResponse({ model: 'm', input: 'x', ...more }), OPTIONS));
const chat = (more: object): unknown =>
  refusal(() => readChat({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...more }, OPTIONS));
const messages = (more: object): unknown =>
  refusal(() => readMessages({ model: 'm', max_tokens: 1, ...more }, { ...OPTIONS, isCount: false }));
const tool = (index: number) => ({ type: 'function', name: `t${index}` });
const chatTool = (index: number) => ({ type: 'function', function: { name: `t${index}` } });
const message = (content: unknown) => ({ role: 'user', content });

describe('the limits of a request', () => {
  it.each([
    [
      'input items',
      response({ input: many(10_001, () => message('x')) }),
      tooLong('input', 'array', 10_000, 10_001),
    ],
    ['tools', response({ tools: many(1_025, tool) }), tooLong('tools', 'array', 1_024, 1_025)],
    ['include', response({ include: many(101, String) }), tooLong('include', 'array', 100, 101)],
    [
      'a text',
      response({ input: [message('x'.repeat(10_485_761))] }),
      tooLong('input[0].content', 'string', 10_485_760, 10_485_761),
    ],
    [
      'instructions',
      response({ instructions: 'x'.repeat(10_485_761) }),
      tooLong('instructions', 'string', 10_485_760, 10_485_761),
    ],
    [
      'messages',
      chat({ messages: many(10_001, () => message('x')) }),
      tooLong('messages', 'array', 10_000, 10_001),
    ],
    ['tools of Chat', chat({ tools: many(129, chatTool) }), tooLong('tools', 'array', 128, 129)],
    [
      'functions',
      chat({ functions: many(129, (index) => ({ name: `t${index}` })) }),
      tooLong('functions', 'array', 128, 129),
    ],
    ['stops', chat({ stop: many(5, String) }), tooLong('stop', 'array', 4, 5)],
    ['a stop', chat({ stop: 'x'.repeat(4_097) }), tooLong('stop', 'string', 4_096, 4_097)],
    [
      'a stop among others',
      chat({ stop: ['a', 'x'.repeat(4_097)] }),
      tooLong('stop[1]', 'string', 4_096, 4_097),
    ],
    [
      'calls of one message',
      chat({ messages: [{ role: 'assistant', tool_calls: many(129, () => ({})) }] }),
      tooLong('messages[0].tool_calls', 'array', 128, 129),
    ],
    [
      'a prompt',
      refusal(() => readCompletion({ model: 'm', prompt: 'x'.repeat(10_485_761) }, OPTIONS)),
      tooLong('prompt', 'string', 10_485_760, 10_485_761),
    ],
  ])('apply to %s', (_, said, expected) => {
    expect(said).toEqual(expected);
  });

  it('apply to the parts of all items together', () => {
    const half = message(many(10_001, () => ({ type: 'input_text', text: 'x' })));
    expect(response({ input: [half, half] })).toEqual({
      status: 400,
      param: 'input',
      code: 'array_above_max_length',
      message: "Invalid 'input': too many parts. Expected at most 20000 in all items, but got 20002 instead.",
    });
  });

  it('apply to blocks inside of blocks', () => {
    const texts = many(10_001, () => ({ type: 'text', text: 'x' }));
    const document = { type: 'document', source: { type: 'content', content: texts } };
    const inResult = { type: 'tool_result', tool_use_id: 'a', content: [document] };
    const found = { type: 'search_result', title: 'a', source: 'b', content: texts };
    expect(messages({ messages: [message([inResult, found])] })).toEqual({
      status: 400,
      param: 'messages',
      code: 'array_above_max_length',
      message:
        "Invalid 'messages': too many parts. Expected at most 20000 in all items, but got 20005 instead.",
    });
    expect(messages({ messages: [message([found])] })).toBeNull();
  });

  it('apply to tools, including those in namespaces and items', () => {
    const spaces = many(20, () => ({ type: 'namespace', name: 'n', tools: many(1_000, tool) }));
    const item = { type: 'additional_tools', role: 'developer', tools: spaces.slice(10) };
    const said = { status: 400, code: 'array_above_max_length' };
    expect(response({ tools: spaces })).toMatchObject({ ...said, param: 'tools' });
    expect(response({ input: [item, item, message([])] })).toMatchObject({ ...said, param: 'input' });
    expect(response({ input: [item, message([])] })).toBeNull();
  });

  it('allow large requests', () => {
    expect(response({ input: many(10_000, () => message([{ type: 'input_text', text: 'x' }])) })).toBeNull();
    expect(response({ tools: many(1_024, tool) })).toBeNull();
    expect(chat({ tools: many(128, chatTool), stop: ['a', 'b', 'c', 'd'] })).toBeNull();
  });

  it('do not change the messages of other errors', () => {
    const schema = z.object({ object: jsonObject, list: listOf(z.string(), 3, 1).optional() });
    const said = (value: unknown): unknown => refusal(() => parseBody(schema, value));
    const message400 = (param: string, code: string, text: string) => ({
      status: 400,
      param,
      code,
      message: text,
    });
    expect([
      said({}),
      said({ object: [] }),
      said({ object: {}, list: 5 }),
      said({ object: {}, list: ['a', 1] }),
      said({ object: {}, list: [] }),
      said({ object: { any: [{ thing: null }] }, list: ['a'] }),
    ]).toEqual([
      message400('object', 'missing_required_parameter', "Missing required parameter: 'object'."),
      message400(
        'object',
        'invalid_type',
        "Invalid type for 'object': expected an object, but got an array instead.",
      ),
      message400(
        'list',
        'invalid_type',
        "Invalid type for 'list': expected an array, but got an integer instead.",
      ),
      message400(
        'list[1]',
        'invalid_type',
        "Invalid type for 'list[1]': expected a string, but got an integer instead.",
      ),
      message400(
        'list',
        'array_below_min_length',
        "Invalid 'list': array too short. Expected an array with minimum length 1, but got an array with length 0 instead.",
      ),
      null,
    ]);
  });
});
