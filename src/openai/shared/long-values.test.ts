import { describe, expect, it } from 'vitest';

import { modelList } from '../../../test/support/models.ts';
import { GatewayError } from '../../canonical/failure/failure.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import { chatToTurn as readChat } from '../chat/to-turn.ts';
import { parseResponse, toTurnRequest as readResponses } from '../responses/input/to-turn.ts';

/** Long values are accepted, or rejected with a short message. */

const options = { models: createModelNames(modelList([])), ignoreClientPrompt: false };

const LONG = 'z'.repeat(1_000_000);
const MANY = 200_000;
const members = Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`x${index}`, 1]));
const semicolons = `data:${';'.repeat(8_000_000)}`;
const tool = { type: 'function', name: 'f', parameters: {} };
const content = (part: object) => ({ input: [{ role: 'user', content: [part] }] });

type Verdict = { readonly length: number; readonly status: number } | 'taken';

const verdict = (read: () => unknown): Verdict => {
  try {
    read();
    return 'taken';
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, message, param } = error.failure;
    return { status, length: message.length + (param?.length ?? 0) };
  }
};

const short = { status: 400, length: expect.toSatisfy((length: number) => length < 800) };

describe('a Responses request', () => {
  it.each<[string, object, unknown]>([
    ['unknown fields', members, 'taken'],
    ['fields of a tool', { tools: [{ ...tool, ...members }] }, 'taken'],
    ['items with an unknown field', { input: items({ role: 'user', content: 'x', odd: 1 }) }, short],
    ['a field name', { [LONG]: 1 }, 'taken'],
    ['semicolons', content({ type: 'input_file', filename: 'a', file_data: semicolons }), 'taken'],
    ['semicolons and a comma', content({ type: 'input_file', file_data: `${semicolons},x` }), 'taken'],
    ['a name of a file', content({ type: 'input_file', filename: LONG, file_data: 'AAAA' }), 'taken'],
    ['an id of an unknown item', { input: [{ type: 'x', id: LONG }] }, short],
    ['a type of an item', { input: [{ type: LONG }] }, short],
    ['a type of a part', content({ type: LONG }), short],
    ['a string as a part', content(Object(LONG) as object), short],
    ['a string as an item', { input: [LONG] }, short],
    ['a role', { input: [{ role: LONG, content: 'x' }] }, short],
    ['a type of a tool', { tools: [{ type: LONG }] }, short],
    ['a list for a type of a tool', { tools: [{ type: Array.from({ length: MANY }, () => 1) }] }, short],
    ['a name of a tool', { tools: [{ ...tool, name: LONG }] }, short],
    ['a tool choice', { tools: [tool], tool_choice: { type: 'function', name: LONG } }, short],
    ['a key of metadata', { metadata: { [LONG]: 3 } }, short],
    ['an id of a call', { input: [{ type: 'function_call_output', call_id: LONG, output: 'x' }] }, short],
    ['an id of a response', { previous_response_id: LONG }, short],
    ['a format', { text: { format: { type: LONG } } }, short],
    ['a number', { temperature: 1e300 }, short],
  ])('%s', (_, body, expected) => {
    expect(
      verdict(() => readResponses(parseResponse({ model: 'm', input: 'hi', ...body }), options)),
    ).toEqual(expected);
  });
});

describe('a Chat request', () => {
  it.each<[string, object, unknown]>([
    ['unknown fields', members, 'taken'],
    ['fields of a message', { messages: [{ role: 'user', content: 'x', ...members }] }, 'taken'],
    ['fields of a tool', { tools: [{ type: 'function', function: tool, ...members }] }, 'taken'],
    ['messages with an unknown field', { messages: items({ role: 'user', content: 'x', odd: 1 }) }, short],
    ['a string as a message', { messages: [LONG] }, short],
    ['a role', { messages: [{ role: LONG, content: 'x' }] }, short],
    ['a type of a part', { messages: [{ role: 'user', content: [{ type: LONG }] }] }, short],
    ['a string as a part', { messages: [{ role: 'user', content: [LONG] }] }, short],
    ['a tool choice', { functions: [{ name: 'f' }], function_call: { name: LONG } }, short],
    [
      'an id of a call',
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'tool', tool_call_id: LONG, content: 'x' },
        ],
      },
      short,
    ],
    [
      'a function that was not called',
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'function', name: LONG, content: 'x' },
        ],
      },
      short,
    ],
  ])('%s', (_, body, expected) => {
    const messages = [{ role: 'user', content: 'hi' }];
    expect(verdict(() => readChat({ model: 'm', messages, ...body }, options))).toEqual(expected);
  });
});

function items(item: object): readonly object[] {
  return Array.from({ length: MANY }, () => item);
}
