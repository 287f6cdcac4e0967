import { describe, expect, it } from 'vitest';

import { CALL, USER, read } from '../../../../test/support/messages-ask.ts';
import type { Item } from '../../../canonical/request/item.ts';
import { readThread } from './thread.ts';

const tools = [
  { name: 'f', input_schema: { type: 'object' } },
  { name: 'late', input_schema: { type: 'object' }, defer_loading: true },
];
const first = { system: 'Be brief.', tools, messages: [USER] };
const call: Item = { kind: 'tool-call', tool: 'function', callId: CALL.id, name: 'f', input: '{ }' };
const result = { type: 'tool_result', tool_use_id: CALL.id, content: '1' };
const results = { messages: [{ role: 'user', content: [result] }] };

describe('the thread of a message', () => {
  it('is begun or continued', () => {
    expect([
      readThread({}, true),
      readThread({ thread: null }, false),
      readThread({ thread: { type: 'create' } }, true),
      readThread({ thread: { type: 'continue', previous_message_id: 'msg_1' } }, true),
    ]).toEqual([
      { isThread: false, continues: null },
      { isThread: false, continues: null },
      { isThread: true, continues: null },
      { isThread: true, continues: { kind: 'message', id: 'msg_1' } },
    ]);
  });

  it('is rejected if it is invalid, or if nothing is stored', () => {
    const threads: readonly (readonly [unknown, boolean, object])[] = [
      [{ type: 'fork' }, true, { param: 'thread.type' }],
      [{ type: 'continue' }, true, { param: 'thread.previous_message_id' }],
      [7, true, { param: 'thread' }],
      [
        { type: 'create' },
        false,
        {
          kind: 'thread_unsupported_request',
          more: { details: { error_code: 'thread_unsupported_request', unsupported: ['store'] } },
        },
      ],
    ];
    for (const [thread, stores, failure] of threads) {
      expect(() => readThread({ thread }, stores)).toThrow(
        expect.objectContaining({ failure: expect.objectContaining(failure) as unknown }) as Error,
      );
    }
  });

  it('sends the same items and tools as a request with the whole conversation', () => {
    const { input, request } = read(first);
    const continued = read(results, { chain: [...input, call] });
    const whole = read({
      ...first,
      messages: [USER, { role: 'assistant', content: [CALL] }, ...results.messages],
    });
    const items = whole.request.items.map((item) => (item.kind === 'tool-call' ? call : item));
    expect(continued.request).toEqual({ ...whole.request, items });
    expect(continued.request.tools).toEqual(request.tools);
    expect(continued.input).toEqual([
      { kind: 'opaque', raw: { type: 'messages_thread', removed: [], effort: null, names: [] } },
      { kind: 'tool-output', tool: 'function', callId: CALL.id, output: '1' },
    ]);
  });

  it('keeps which tools were loaded and removed, and the effort', () => {
    const change = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } });
    const system = {
      role: 'system',
      content: [change('tool_addition', 'late'), change('tool_removal', 'f')],
      output_config: { effort: 'high' },
    };
    const begun = read({ ...first, messages: [USER, system] });
    const second = read({ messages: [USER] }, { chain: begun.input });
    const third = read({ messages: [USER] }, { chain: [...begun.input, ...second.input] });
    const toolChoice = { mode: 'allowed', required: false, tools: [{ kind: 'function', name: 'late' }] };
    for (const { request } of [begun, second, third]) {
      expect(request).toMatchObject({ toolChoice, reasoning: { effort: 'high' } });
      expect(request.items.filter(({ kind }) => kind === 'loaded-tools')).toHaveLength(1);
    }
    const again = read(
      { messages: [USER, { role: 'system', content: [change('tool_addition', 'late')] }] },
      {
        chain: begun.input,
      },
    );
    expect(again.request.items.filter(({ kind }) => kind === 'loaded-tools')).toHaveLength(1);
  });

  it('rejects what only its first request may have, and results without a call', () => {
    const chain = [...read(first).input, call];
    for (const [more, param] of [
      [{ system: 'x' }, 'system'],
      [{ tools: [] }, 'tools'],
      [
        { messages: [{ role: 'user', content: [{ ...result, tool_use_id: 'other' }] }] },
        'messages[0].content[0].tool_use_id',
      ],
    ] as const) {
      expect(() => read({ ...results, ...more }, { chain })).toThrow(
        expect.objectContaining({ failure: expect.objectContaining({ param }) as unknown }) as Error,
      );
    }
  });
});
