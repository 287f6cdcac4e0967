import { describe, expect, it } from 'vitest';

import { threadSettings } from '../../../test/support/thread-settings.ts';
import { turnRequest } from '../../../test/support/turn-request.ts';
import type { Item, Part } from '../../canonical/request/item.ts';
import { injectedOf, placeholderItem, toInjectItems } from './inject-items.ts';

const rawOf = (item: Item): unknown => toInjectItems({ instructions: null, items: [item] })[0];
const message = (role: 'system' | 'developer' | 'user' | 'assistant', ...parts: readonly Part[]): Item => ({
  kind: 'message',
  role,
  parts,
});
const text = (value: string): Part => ({ kind: 'text', text: value });

describe('toInjectItems', () => {
  it.each([
    [
      'a message of the user',
      message('user', text('a'), text('b')),
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'b' },
        ],
      },
    ],
    [
      'a system message, which the app-server would drop',
      message('system', text('a')),
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'a' }] },
    ],
    [
      'a message of the assistant, with all that belongs to it',
      {
        kind: 'message',
        role: 'assistant',
        id: 'msg_1',
        phase: 'commentary',
        parts: [{ kind: 'text', text: 'a', annotations: [{ type: 'url_citation' }] }],
      },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'a', annotations: [{ type: 'url_citation' }] }],
      },
    ],
    [
      'a refusal, which has no part of its own',
      message('assistant', { kind: 'refusal', text: 'No.' }),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'No.' }] },
    ],
    [
      'images; low detail would be replaced by a sentence',
      message(
        'user',
        { kind: 'image', url: 'data:a' },
        { kind: 'image', url: 'data:b', detail: 'high' },
        { kind: 'image', url: 'data:c', detail: 'low' },
      ),
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:a' },
          { type: 'input_image', image_url: 'data:b', detail: 'high' },
          { type: 'input_image', image_url: 'data:c' },
        ],
      },
    ],
    [
      'audio',
      message('user', { kind: 'audio', format: 'wav', data: 'UklG' }),
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_audio', audio_url: 'data:audio/wav;base64,UklG' }],
      },
    ],
    [
      'reasoning',
      { kind: 'reasoning', id: 'rs_1', summary: ['s'], content: ['c'], encryptedContent: 'e' },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 's' }],
        content: [{ type: 'reasoning_text', text: 'c' }],
        encrypted_content: 'e',
      },
    ],
    [
      'reasoning without anything',
      { kind: 'reasoning', summary: [] },
      { type: 'reasoning', summary: [], encrypted_content: null },
    ],
    [
      'a call, its arguments byte for byte',
      {
        kind: 'tool-call',
        tool: 'function',
        id: 'fc_1',
        callId: 'c',
        name: 'f',
        namespace: 'functions',
        input: '{ "a":1.0 }',
      },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'c',
        name: 'f',
        namespace: 'functions',
        arguments: '{ "a":1.0 }',
      },
    ],
    [
      'an output',
      { kind: 'tool-output', tool: 'function', callId: 'c', output: '' },
      { type: 'function_call_output', call_id: 'c', output: '' },
    ],
    [
      'an output of parts',
      {
        kind: 'tool-output',
        tool: 'function',
        callId: 'c',
        output: [text('a'), { kind: 'image', url: 'data:a' }],
      },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'data:a' },
        ],
      },
    ],
    [
      'a custom call',
      { kind: 'tool-call', tool: 'custom', callId: 'c', name: 'apply_patch', input: '*** Begin' },
      { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: '*** Begin' },
    ],
    [
      'its output',
      { kind: 'tool-output', tool: 'custom', id: 'o', callId: 'c', output: 'done' },
      { type: 'custom_tool_call_output', id: 'o', call_id: 'c', output: 'done' },
    ],
    [
      'a compaction',
      { kind: 'compaction', encryptedContent: 'e' },
      { type: 'compaction', encrypted_content: 'e' },
    ],
    [
      'a summary, as words of the user',
      { kind: 'compaction', id: 'cmp_1', summary: 'All is well.' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: expect.stringMatching(/\n\nAll is well\.$/) as string }],
      },
    ],
    [
      'a hosted call, of which only the type is read',
      { kind: 'hosted-call', id: 'ws', raw: { type: 'web_search_call', id: 'ws', strange: [1] } },
      { type: 'web_search_call', id: 'ws', strange: [1] },
    ],
  ] as const satisfies readonly (readonly [string, Item, unknown])[])('%s', (_, item, raw) => {
    expect(rawOf(item)).toEqual(raw);
  });

  it('puts instructions into the first message', () => {
    const injected = { instructions: 'A', items: [message('user', text('B'))] };
    const first = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'A' }] };
    const second = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'B' }] };
    expect(toInjectItems(injected)).toEqual([first, second]);
  });

  it('has nothing of a client in a placeholder', () => {
    expect(placeholderItem('px_1')).toEqual({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '.' }],
      id: 'px_1',
    });
  });
});

describe('injectedOf', () => {
  const settings = threadSettings();
  const items = [message('system', text('A')), message('user', text('B'))];

  it.each([
    ['base', 'message', 'Be kind.', { instructions: 'Be kind.', items }],
    ['base', 'message', '', { instructions: null, items }],
    ['base', 'message', null, { instructions: null, items }],
    ['base', 'field', 'Be kind.', { instructions: null, items }],
    ['developer', 'message', 'Be kind.', { instructions: null, items: items.slice(1) }],
  ] as const)('%s, in a %s, instructions %j', (instructionsTarget, as, instructions, expected) => {
    const request = turnRequest({ instructions, items });
    expect(injectedOf(request, { ...settings, instructionsTarget }, { instructions: as })).toEqual(expected);
  });
});
