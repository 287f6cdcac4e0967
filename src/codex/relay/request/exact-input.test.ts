import { describe, expect, it } from 'vitest';

import type { Item } from '../../../canonical/request/item.ts';
import { exactInput } from './exact-input.ts';

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
      { kind: 'image', url: png },
      { kind: 'audio', format: 'wav', data: 'UklG' },
    ],
  },
  { kind: 'reasoning', summary: [], content: ['because'] },
  { kind: 'tool-call', tool: 'function', callId: 'c1', name: 'f', input: '{ }' },
  {
    kind: 'tool-output',
    tool: 'function',
    callId: 'c1',
    output: [{ kind: 'image', url: png, detail: 'high' }],
  },
  { kind: 'tool-call', tool: 'custom', callId: 'c2', name: 'g', input: 'x' },
  { kind: 'tool-output', tool: 'custom', callId: 'c2', output: 'plain' },
  {
    kind: 'message',
    role: 'assistant',
    parts: [
      { kind: 'text', text: 'Well' },
      { kind: 'refusal', text: 'no' },
    ],
  },
  { kind: 'compaction', encryptedContent: 'y' },
  { kind: 'hosted-call', id: 'ws_1', raw: { type: 'web_search_call', id: 'ws_1' } },
];
const everything = {
  systemRole: true,
  imageDetail: true,
  cacheBreakpoints: true,
  callFields: true,
  files: true,
};
const exact = exactInput({ instructions: 'Be kind.', items }, everything);

describe('exactInput', () => {
  it('is what the client itself would have sent', () => {
    expect(exact).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'sys' }] },
      {
        type: 'message',
        role: 'user',
        id: 'msg_1',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: png, detail: 'low' },
          { type: 'input_image', image_url: png },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
        ],
      },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'because' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{ }' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [{ type: 'input_image', image_url: png, detail: 'high' }],
      },
      { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'plain' },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Well' },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      { type: 'compaction', encrypted_content: 'y' },
      { type: 'web_search_call', id: 'ws_1' },
    ]);
  });

  it('keeps cache breakpoints and additional call fields if the backend accepts them', () => {
    const cacheBreakpoint = { mode: 'explicit', ttl: '12h' };
    const raw = { type: 'input_file', file_id: 'file-1' } as const;
    const given: readonly Item[] = [
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'a', cacheBreakpoint },
          { kind: 'image', url: png, cacheBreakpoint },
          { kind: 'audio', format: 'wav', data: 'UklG', cacheBreakpoint },
          { kind: 'file', raw, cacheBreakpoint },
        ],
      },
      { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}', more: { async: true } },
      {
        kind: 'tool-output',
        tool: 'function',
        callId: 'c',
        output: [{ kind: 'text', text: 'b', cacheBreakpoint }],
        more: { caller: { type: 'direct' } },
      },
    ];
    const inputOf = (takes: boolean) => {
      const support = { ...everything, cacheBreakpoints: takes, callFields: takes };
      return exactInput({ instructions: null, items: given }, support);
    };
    const expected = (point: object, async: object, caller: object): unknown => [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'a', ...point },
          { type: 'input_image', image_url: png, ...point },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' }, ...point },
          { ...raw, ...point },
        ],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', ...async },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [{ type: 'input_text', text: 'b', ...point }],
        ...caller,
      },
    ];
    const point = { prompt_cache_breakpoint: cacheBreakpoint };
    expect(inputOf(true)).toEqual(expected(point, { async: true }, { caller: { type: 'direct' } }));
    expect(inputOf(false)).toEqual(expected({}, {}, {}));
  });

  it('has no system messages and image details if the backend does not accept them', () => {
    const [first, second] = exactInput(
      { instructions: null, items },
      { ...everything, systemRole: false, imageDetail: false, files: false },
    );
    expect(first).toEqual({
      type: 'message',
      role: 'developer',
      content: [{ type: 'input_text', text: 'sys' }],
    });
    expect(second?.['content']).toContainEqual({ type: 'input_image', image_url: png });
    expect(JSON.stringify(second)).not.toContain('detail');
  });
});
