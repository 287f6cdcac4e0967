import { describe, expect, it } from 'vitest';

import type { Json } from '../../../kit/json/json.ts';
import { carriedInput } from './carried-input.ts';

const placeholder = { type: 'message', id: 'px_1', role: 'user', content: [] };
const tools = { type: 'additional_tools', tools: [] };
const earlier = { type: 'message', id: 'msg_1', role: 'user' };
const call = { type: 'function_call', id: 'fc_1', call_id: 'c' };
const output = { type: 'function_call_output', call_id: 'c', output: 'x' };

describe('the input of a model request of the app-server', () => {
  it.each<[string, readonly Json[], unknown]>([
    ['the placeholder alone', [placeholder], { tools: [], before: 0, after: [], own: [placeholder] }],
    [
      'the placeholder after others',
      [earlier, earlier, placeholder],
      { tools: [], before: 2, after: [], own: [placeholder] },
    ],
    [
      'the placeholder before others',
      [placeholder, call, output],
      { tools: [], before: 0, after: [call, output], own: [placeholder, call, output] },
    ],
    [
      'tools, others, the placeholder, and its own',
      [tools, earlier, placeholder, call],
      { tools: [tools], before: 1, after: [call], own: [tools, placeholder, call] },
    ],
    [
      'tools that are not the first item',
      [earlier, tools, placeholder],
      { tools: [], before: 2, after: [], own: [placeholder] },
    ],
    [
      'tools after the placeholder',
      [placeholder, tools],
      { tools: [], before: 0, after: [tools], own: [placeholder, tools] },
    ],
    [
      'a placeholder that holds tools itself',
      [{ ...tools, id: 'px_1' }, call],
      { tools: [], before: 0, after: [call], own: [{ ...tools, id: 'px_1' }, call] },
    ],
    [
      'values other than items',
      ['px_1', null, placeholder, ['px_1'], 1],
      { tools: [], before: 2, after: [['px_1'], 1], own: [placeholder, ['px_1'], 1] },
    ],
  ])('is divided at the placeholder: %s', (_, input, expected) => {
    expect(carriedInput(input, 'px_1')).toEqual(expected);
  });

  it.each<[string, readonly Json[]]>([
    ['nothing', []],
    ['other items', [tools, earlier, call]],
    ['the placeholder of another turn', [{ ...placeholder, id: 'px_2' }]],
    ['its id elsewhere', [{ type: 'message', call_id: 'px_1' }, 'px_1']],
    ['the placeholder twice', [placeholder, earlier, placeholder]],
    ['the placeholder twice in a row', [placeholder, placeholder]],
  ])('is unknown without exactly one placeholder: %s', (_, input) => {
    expect(carriedInput(input, 'px_1')).toBeNull();
  });
});
