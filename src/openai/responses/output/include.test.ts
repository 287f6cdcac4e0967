import { describe, expect, it } from 'vitest';

import { refused } from '../../../../test/support/refused.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { INCLUDABLE, readInclude, withIncluded, type Includable } from './include.ts';

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

const text = (logprobs: readonly JsonObject[]) => ({
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
    { type: 'message', content: [text([{ token: 'a' }]), { type: 'refusal', refusal: 'b' }] },
    { type: 'message', content: [text([]), { type: 'refusal', refusal: 'b' }] },
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
