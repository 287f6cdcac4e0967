import { describe, expect, it } from 'vitest';

import { expectMatchesSchema } from '../../../../test/support/schema.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { INCLUDABLE, type Includable } from './include.ts';
import { projectStoredItem } from './project-stored.ts';

const ID = 'item_1';
const project = (item: Item, include: readonly Includable[] = []): JsonObject =>
  projectStoredItem({ id: ID, item }, new Set(include));

const text = (value: string) => ({ kind: 'text', text: value }) as const;
const message = (role: string, content: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id: ID,
  type: 'message',
  status: 'completed',
  role,
  content,
  ...more,
});
const said = (value: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: value });

/** Every kind of item, and its form in the API. */
const ITEMS: readonly (readonly [string, Item, JsonObject])[] = [
  [
    'a text of the user',
    {
      kind: 'message',
      role: 'user',
      parts: [{ ...text('hi'), cacheBreakpoint: { mode: 'explicit' } }],
      id: 'x',
    },
    message('user', [{ type: 'input_text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } }]),
  ],
  [
    'images and files',
    {
      kind: 'message',
      role: 'user',
      parts: [
        { kind: 'image', url: 'https://a.b/c.png' },
        { kind: 'file', raw: { type: 'input_file', filename: 'a.md', file_data: 'data:,' } },
        { kind: 'file', raw: { type: 'input_image', file_id: 'file_1', detail: 'low' } },
      ],
    },
    message('user', [
      { type: 'input_image', image_url: 'https://a.b/c.png', detail: 'auto' },
      { type: 'input_file', filename: 'a.md', file_data: 'data:,' },
      { type: 'input_image', file_id: 'file_1', detail: 'low' },
    ]),
  ],
  [
    'a prompt',
    { kind: 'message', role: 'developer', parts: [text('Be brief.')] },
    message('developer', [{ type: 'input_text', text: 'Be brief.' }]),
  ],
  [
    'an answer',
    {
      kind: 'message',
      role: 'assistant',
      parts: [text('Hello')],
      phase: 'final_answer',
      status: 'incomplete',
    },
    message('assistant', [said('Hello')], { status: 'incomplete', phase: 'final_answer' }),
  ],
  [
    'a refusal',
    { kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'No.' }] },
    message('assistant', [{ type: 'refusal', refusal: 'No.' }]),
  ],
  [
    'reasoning',
    { kind: 'reasoning', summary: ['a'], content: ['b'], encryptedContent: 'E', notes: { a: 1 } },
    {
      id: ID,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'a' }],
      content: [{ type: 'reasoning_text', text: 'b' }],
      encrypted_content: 'E',
    },
  ],
  [
    'a call of a function',
    { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}', namespace: 'n' },
    {
      id: ID,
      type: 'function_call',
      status: 'completed',
      call_id: 'c',
      name: 'f',
      namespace: 'n',
      arguments: '{}',
    },
  ],
  [
    'a call of a custom tool',
    { kind: 'tool-call', tool: 'custom', callId: 'c', name: 'f', input: 'x' },
    { id: ID, type: 'custom_tool_call', status: 'completed', call_id: 'c', name: 'f', input: 'x' },
  ],
  [
    'the output of a function',
    { kind: 'tool-output', tool: 'function', callId: 'c', output: 'x' },
    { id: ID, type: 'function_call_output', status: 'completed', call_id: 'c', output: 'x' },
  ],
  [
    'the output of a custom tool, in parts',
    {
      kind: 'tool-output',
      tool: 'custom',
      callId: 'c',
      output: [text('x'), { kind: 'image', url: 'data:,' }],
    },
    {
      id: ID,
      type: 'custom_tool_call_output',
      status: 'completed',
      call_id: 'c',
      output: [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: 'data:,', detail: 'auto' },
      ],
    },
  ],
  [
    'a hosted call',
    {
      kind: 'hosted-call',
      raw: { type: 'web_search_call', id: 'ws', action: { type: 'search', query: 'q' } },
    },
    { id: ID, type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
  ],
  [
    'the output of a computer',
    {
      kind: 'opaque',
      raw: {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', image_url: 'data:,' },
      },
    },
    {
      id: ID,
      type: 'computer_call_output',
      status: 'completed',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: 'data:,' },
    },
  ],
  [
    'tools',
    { kind: 'loaded-tools', raw: { type: 'additional_tools', role: 'developer', tools: [] }, tools: [] },
    { id: ID, type: 'additional_tools', role: 'developer', tools: [] },
  ],
  [
    'a compaction',
    { kind: 'compaction', encryptedContent: 'E' },
    { id: ID, type: 'compaction', encrypted_content: 'E' },
  ],
];

describe('a stored item', () => {
  it.each(ITEMS)('is shown in the form of the API: %s', (_, item, expected) => {
    const shown = project(item, INCLUDABLE);
    expect(shown).toEqual(expected);
    expectMatchesSchema('ItemResource', shown);
    expectMatchesSchema('ItemResource', project(item));
  });

  it('shows audio, for which the API has no form in lists, as it was sent', () => {
    const audio: Item = {
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'audio', format: 'wav', data: 'AAAA' }],
    };
    expect(project(audio)).toEqual(
      message('user', [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]),
    );
  });

  it('shows items of unknown types unchanged', () => {
    const raw = { type: 'telepathy', content: [null] };
    expect(project({ kind: 'opaque', raw })).toEqual({ ...raw, id: ID });
  });

  it('shows a summary as a compaction that can be sent back', () => {
    expect(project({ kind: 'compaction', summary: 'All was well.' })).toEqual({
      id: ID,
      type: 'compaction',
      encrypted_content: expect.any(String),
    });
  });
});
