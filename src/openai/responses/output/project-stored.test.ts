import { describe, expect, it } from 'vitest';

import { expectMatchesSchema } from '../../../../test/support/schema.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import {
  INCLUDABLE,
  type Includable,
  readInclude,
  withIncluded,
  projectStoredItem,
} from './project-stored.ts';
import { refused } from '../../../../test/support/refused.ts';

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

describe('include in a query', () => {
  const both = ['reasoning.encrypted_content', 'web_search_call.results'];

  it.each([
    'include[]=reasoning.encrypted_content&include[]=web_search_call.results',
    'include=reasoning.encrypted_content&include=web_search_call.results',
    'include=reasoning.encrypted_content,web_search_call.results',
    'include[0]=reasoning.encrypted_content&include[1]=web_search_call.results&include[]=',
    `${encodeURIComponent('include[]')}=reasoning.encrypted_content&include=web_search_call.results,`,
  ])('is read from %s', (query) => {
    expect([...readInclude(new URLSearchParams(query))]).toEqual(both);
  });

  it('is empty by default', () => {
    expect(readInclude(new URLSearchParams('stream=true&included=x')).size).toBe(0);
  });

  it('is rejected if it is unknown', () => {
    expect(refused(() => readInclude(new URLSearchParams('include[]=usage')))).toMatchObject({
      status: 400,
      param: 'include',
      message: `Invalid value: 'usage'. Supported values are: ${INCLUDABLE.slice(0, -1)
        .map((one) => `'${one}'`)
        .join(', ')}, and 'message.output_text.logprobs'.`,
    });
  });
});

const outputText = (logprobs: readonly JsonObject[]) => ({
  type: 'output_text',
  annotations: [],
  logprobs,
  text: 'a',
});
const image = (url: string | null) => ({ type: 'input_image', image_url: url, detail: 'auto' });
const search = (action: JsonObject, more: JsonObject = {}) => ({ type: 'web_search_call', action, ...more });

/** A field, an item that has it, and the item without it. */
const FIELDS: readonly (readonly [Includable, JsonObject, JsonObject])[] = [
  [
    'reasoning.encrypted_content',
    { type: 'reasoning', summary: [], encrypted_content: 'E' },
    { type: 'reasoning', summary: [] },
  ],
  [
    'message.output_text.logprobs',
    { type: 'message', content: [outputText([{ token: 'a' }]), { type: 'refusal', refusal: 'b' }] },
    { type: 'message', content: [outputText([]), { type: 'refusal', refusal: 'b' }] },
  ],
  [
    'message.input_image.image_url',
    { type: 'message', content: [image('data:,')] },
    { type: 'message', content: [image(null)] },
  ],
  [
    'computer_call_output.output.image_url',
    { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: 'data:,' } },
    { type: 'computer_call_output', output: { type: 'computer_screenshot' } },
  ],
  [
    'file_search_call.results',
    { type: 'file_search_call', results: [{ file_id: 'f' }], queries: [] },
    { type: 'file_search_call', results: null, queries: [] },
  ],
  [
    'code_interpreter_call.outputs',
    { type: 'code_interpreter_call', outputs: [{ type: 'logs', logs: '1' }] },
    { type: 'code_interpreter_call', outputs: null },
  ],
  [
    'web_search_call.action.sources',
    search({ type: 'search', sources: [{ url: 'u' }] }),
    search({ type: 'search' }),
  ],
  ['web_search_call.results', search({ type: 'search' }, { results: [] }), search({ type: 'search' })],
];

describe('an item', () => {
  it.each(FIELDS)('has %s if it is included', (field, item, without) => {
    expect(withIncluded(item, (one) => one === field)).toEqual(item);
    expect(withIncluded(item, (one) => one !== field)).toEqual(without);
    expect(Object.keys(withIncluded(item, () => false))).toEqual(Object.keys(without));
  });

  it('is the same if it has none of the fields', () => {
    for (const [, , without] of FIELDS) expect(withIncluded(without, () => false)).toEqual(without);
    const other = { type: 'unknown', results: 1, content: 'a text' };
    expect(withIncluded(other, () => false)).toBe(other);
  });

  it('covers every value of the API', () => {
    expect(FIELDS.map(([field]) => field).toSorted()).toEqual([...INCLUDABLE].toSorted());
  });
});
