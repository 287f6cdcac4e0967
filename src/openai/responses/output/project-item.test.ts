import { describe, expect, it } from 'vitest';
import { saidMessage } from '../../../../test/support/item-events.ts';
import type { Produced, Reasoning } from '../../../canonical/request/item.ts';
import { projectItem } from './project.ts';
const MESSAGE = saidMessage('msg_1', 'Hello');

describe('projectItem', () => {
  const shown = { includeEncryptedReasoning: true };
  const reasoning: Produced<Reasoning> = {
    kind: 'reasoning',
    id: 'rs_1',
    summary: ['a', 'b'],
    content: ['raw'],
    encryptedContent: 'opaque',
    status: 'completed',
  };

  it.each([
    [
      'a message',
      { ...MESSAGE, phase: 'commentary', status: 'incomplete' } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'incomplete',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'Hello' }],
        phase: 'commentary',
      },
    ],
    [
      'a refusal',
      { ...MESSAGE, parts: [{ kind: 'refusal', text: 'No.' }] } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No.' }],
      },
    ],
    [
      'a text that breaks off with a refusal',
      {
        ...MESSAGE,
        parts: [
          { kind: 'text', text: 'Well' },
          { kind: 'refusal', text: 'No.' },
        ],
      } as const,
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', annotations: [], logprobs: [], text: 'Well' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ],
    [
      'reasoning',
      reasoning,
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'a' },
          { type: 'summary_text', text: 'b' },
        ],
        content: [{ type: 'reasoning_text', text: 'raw' }],
        encrypted_content: 'opaque',
      },
    ],
    [
      'reasoning without anything',
      { kind: 'reasoning', id: 'rs_1', summary: [], content: [] } as const,
      { id: 'rs_1', type: 'reasoning', summary: [] },
    ],
    [
      'a call',
      { kind: 'tool-call', id: 'fc_1', tool: 'function', callId: 'call_1', name: 'f', input: '{}' } as const,
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        arguments: '{}',
      },
    ],
    [
      'a call of a custom tool',
      { kind: 'tool-call', id: 'ctc_1', tool: 'custom', callId: 'call_1', name: 'f', input: 'x' } as const,
      {
        id: 'ctc_1',
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        input: 'x',
      },
    ],
    [
      'a hosted call, under our id',
      {
        kind: 'hosted-call',
        id: 'ws_2',
        raw: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      } as const,
      { type: 'web_search_call', id: 'ws_2', status: 'completed' },
    ],
    [
      'a hosted call that was cut off',
      {
        kind: 'hosted-call',
        id: 'ws_1',
        raw: { type: 'web_search_call', id: 'ws_1', status: 'searching' },
        status: 'incomplete',
      } as const,
      { type: 'web_search_call', id: 'ws_1', status: 'failed' },
    ],
    [
      'a compaction',
      { kind: 'compaction', id: 'cmp_1', encryptedContent: 'e' } as const,
      { id: 'cmp_1', type: 'compaction', encrypted_content: 'e' },
    ],
    [
      'an item of an unknown type',
      { kind: 'opaque', id: 'x_1', raw: { type: 'new', strange: [1] } } as const,
      { type: 'new', strange: [1], id: 'x_1' },
    ],
  ])('%s', (_, item, expected) => {
    expect(projectItem(item, shown)).toEqual(expected);
  });

  it('removes encrypted reasoning unless the client requested it', () => {
    expect(projectItem(reasoning, { includeEncryptedReasoning: false })).not.toHaveProperty(
      'encrypted_content',
    );
  });
});
