import { describe, expect, it } from 'vitest';

import type { Item } from '../../canonical/item.ts';
import type { Json, JsonObject } from '../../kit/json.ts';
import { toInjectItems } from '../translate/inject-items.ts';
import { editInput, inputEdits } from './input-edits.ts';

const png = 'data:image/png;base64,AAAA';
const items: readonly Item[] = [
  { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'sys' }] },
  {
    kind: 'message',
    role: 'user',
    id: 'msg_1',
    parts: [
      { kind: 'text', text: 'look' },
      { kind: 'image', url: png, detail: 'low' },
      { kind: 'image', url: png, detail: 'original' },
      { kind: 'image', url: png },
      { kind: 'audio', format: 'wav', data: 'UklG' },
    ],
  },
  { kind: 'reasoning', summary: [], encryptedContent: 'x' },
  { kind: 'function-call', callId: 'c1', name: 'f', arguments: '{}' },
  { kind: 'function-output', callId: 'c1', output: [{ kind: 'image', url: png, detail: 'low' }] },
  { kind: 'custom-call', callId: 'c2', name: 'g', input: 'x' },
  { kind: 'custom-output', callId: 'c2', output: 'plain' },
  {
    kind: 'message',
    role: 'assistant',
    parts: [
      { kind: 'text', text: 'Well' },
      { kind: 'refusal', text: 'no' },
    ],
  },
  { kind: 'compaction', encryptedContent: 'y' },
  { kind: 'carried', wire: { type: 'web_search_call', id: 'ws_1' } },
  { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'again' }] },
];
const injected = toInjectItems({ instructions: null, items });

describe('edits of the input', () => {
  const edits = inputEdits(items, true);
  const image = (detail?: string): JsonObject => ({
    type: 'input_image',
    image_url: png,
    ...(detail === undefined ? {} : { detail }),
  });

  it('put back what the app-server changes, and nothing else', () => {
    const input = editInput(injected, items, edits, 0);
    expect(input).toEqual([
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'sys' }] },
      {
        type: 'message',
        role: 'user',
        id: 'msg_1',
        content: [
          { type: 'input_text', text: 'look' },
          image('low'),
          image('original'),
          image(),
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
        ],
      },
      ...injected.slice(2, 4),
      { type: 'function_call_output', call_id: 'c1', output: [image('low')] },
      ...injected.slice(5, 7),
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Well' },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      ...injected.slice(8),
    ]);
  });

  it('leave the role where the backend does not know it', () => {
    const [first] = editInput(injected, items, inputEdits(items, false), 0);
    expect(first).toEqual(injected[0]);
  });

  it('find the items behind what the app-server puts in front of them, and before what follows', () => {
    const tools = { type: 'additional_tools', tools: [] };
    const front = { type: 'message', role: 'developer', content: [] };
    const later = { type: 'function_call', call_id: 'own', name: 'x', arguments: '' };
    expect(editInput([tools, front, front, ...injected, later], items, edits, 2)).toEqual([
      tools,
      front,
      front,
      ...editInput(injected, items, edits, 0),
      later,
    ]);
  });

  it('change nothing if one item is not where it must be', () => {
    const broken: readonly (readonly Json[])[] = [
      injected.slice(1),
      [...injected.slice(0, 3), ...injected.slice(4)],
      [...injected.slice(1), injected[0] ?? null],
      injected.with(1, { ...injected[1], role: 'assistant' }),
      injected.with(4, { ...injected[4], call_id: 'other' }),
      injected.with(9, 'odd' as never),
      [],
    ];
    for (const input of broken) expect(editInput(input, items, edits, 0)).toBe(input);
    expect(editInput(injected, items, edits, 1)).toBe(injected);
  });

  it('are none for plain text', () => {
    const plain: readonly Item[] = [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'x' }] }];
    expect(inputEdits(plain, true)).toEqual([]);
    expect(editInput(injected, plain, [], 0)).toBe(injected);
  });
});
