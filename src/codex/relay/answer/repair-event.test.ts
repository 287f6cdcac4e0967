import { describe, expect, it } from 'vitest';

import type { Json, JsonObject } from '../../../kit/json/json.ts';
import { EventRepairs } from './repair-event.ts';

const repairs = (): EventRepairs => {
  let count = 0;
  return new EventRepairs(() => `call_ours_${(count += 1)}`);
};
const call = (more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'c1',
  name: 'f',
  arguments: '{ "a":1 }',
  ...more,
});
const done = (item: JsonObject, output_index = 0): JsonObject => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const repairedItem = (item: JsonObject): unknown =>
  repairs().repair('response.output_item.done', done(item))?.event['item'];

describe('arguments of a call', () => {
  it.each<[Json, string]>([
    [{ a: 1, b: ['é'] }, '{"a":1,"b":["é"]}'],
    [5, '5'],
    [true, 'true'],
    [null, 'null'],
    [['x'], '["x"]'],
  ])('%j become text', (given, text) => {
    expect(repairedItem(call({ arguments: given }))).toEqual(call({ arguments: text }));
  });

  it.each(['{ "a":1 }', '"{\\"a\\":1}"', '', 'no JSON'])('%j stays unchanged', (text) => {
    expect(repairs().repair('response.output_item.done', done(call({ arguments: text })))).toBeNull();
  });

  it('that are missing stay missing: they may have arrived in deltas', () => {
    const { arguments: _, ...rest } = call();
    expect(repairs().repair('response.output_item.done', done(rest))).toBeNull();
  });

  it('become text in the event that carries only them', () => {
    const event = { type: 'response.function_call_arguments.done', item_id: 'fc_1', arguments: { a: 1 } };
    expect(repairs().repair(event.type, event)).toEqual({
      event: { ...event, arguments: '{"a":1}' },
      repairs: ['arguments'],
    });
  });
});

describe('a call without an id', () => {
  const { call_id: _, ...anonymous } = call();

  it('gets one, which it keeps in the last event of the answer', () => {
    const all = repairs();
    const first = all.repair('response.output_item.done', done(anonymous, 0));
    const second = all.repair('response.output_item.done', done({ ...anonymous, id: 'fc_2' }, 1));
    expect([first, second]).toEqual([
      { event: done(call({ call_id: 'call_ours_1' }), 0), repairs: ['no_call_id'] },
      { event: done(call({ call_id: 'call_ours_2', id: 'fc_2' }), 1), repairs: ['no_call_id'] },
    ]);
    // The last event may refer to items by index only.
    const { id: _id, ...rest } = anonymous;
    const last = { type: 'response.completed', response: { id: 'r', output: [anonymous, rest] } };
    expect(all.repair(last.type, last)).toEqual({
      event: {
        ...last,
        response: {
          id: 'r',
          usage: undefined,
          output: [call({ call_id: 'call_ours_1' }), { ...rest, call_id: 'call_ours_2' }],
        },
      },
      repairs: ['no_call_id'],
    });
  });

  it('is not repaired if it has no name either: it cannot be run', () => {
    const { name: _name, ...rest } = anonymous;
    expect(repairs().repair('response.output_item.done', done(rest))).toBeNull();
  });
});

describe('usage', () => {
  const repairedUsage = (usage: Json): unknown => {
    const event = { type: 'response.completed', response: { id: 'r', usage } };
    const repaired = repairs().repair(event.type, event);
    return repaired === null ? 'unchanged' : (repaired.event['response'] as JsonObject)['usage'];
  };
  const NAMES = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
  const DETAILS = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };

  it.each<[string, Json]>([
    ['in the form of the Responses API', NAMES],
    ['with details', { ...NAMES, input_tokens_details: { cached_tokens: 1, cache_write_tokens: 2 } }],
    ['null', null],
  ])('%s stays unchanged', (_, usage) => expect(repairedUsage(usage)).toBe('unchanged'));

  it("in the Chat API's format is read", () => {
    const chat = {
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 1 },
    };
    expect(repairedUsage(chat)).toEqual({
      ...chat,
      ...NAMES,
      input_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 1 },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['the total', { input_tokens: 3, output_tokens: 4 }, NAMES],
    ['the input', { output_tokens: 4, total_tokens: 7 }, NAMES],
    ['a total of at least 0', { ...NAMES, total_tokens: -7 }, NAMES],
    ['a detail', { ...NAMES, input_tokens_details: {} }, NAMES],
    ['a detail of at least 0', { ...NAMES, input_tokens_details: { cached_tokens: -1 } }, NAMES],
  ])('without %s is completed', (_, usage, names) => {
    expect(repairedUsage(usage)).toEqual({ ...names, ...DETAILS });
  });

  it.each<[Json]>([
    [{}],
    ['many'],
    [[1]],
    [{ input_tokens: 'three' }],
    [{ input_tokens: -3, output_tokens: -4, total_tokens: -7 }],
  ])('%j is removed', (usage) => expect(repairedUsage(usage)).toBeNull());
});
