import { describe, expect, it } from 'vitest';

import type { Item } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { toInjectItems } from '../../translate/inject-items.ts';
import { exactInput, restoreInput } from './exact-input.ts';
import { TurnAnswers } from './turn-answers.ts';

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
const injected = toInjectItems({ instructions: 'Be kind.', items }, 'places');
const FIRST = { developerInstructions: null, isFirstRequest: true, answers: new TurnAnswers() };

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

describe('restoreInput', () => {
  const tools: JsonObject = { type: 'additional_tools', id: 'at_1', tools: [] };
  const foreign: JsonObject = { type: 'message', id: 'msg_codex', role: 'developer', content: [] };

  it('finds each item by its id, at any position', () => {
    const same = { added: 0, missing: 0, isLost: false };
    expect(restoreInput(injected, exact, FIRST)).toEqual({ input: exact, ...same });
    expect(restoreInput([tools, ...injected], exact, FIRST)).toEqual({ input: [tools, ...exact], ...same });
  });

  it('removes and counts what the app-server added before, between and after', () => {
    const [head, ...rest] = injected;
    const input = [tools, foreign, head ?? null, foreign, ...rest, foreign];
    expect(restoreInput(input, exact, FIRST)).toEqual({
      input: [tools, ...exact],
      added: 3,
      missing: 0,
      isLost: false,
    });
  });

  it('keeps what follows the items of a later request: the model produced it', () => {
    const front = { ...FIRST, isFirstRequest: false };
    expect(restoreInput([foreign, ...injected, foreign], exact, front)).toEqual({
      input: [...exact, foreign],
      added: 1,
      missing: 0,
      isLost: false,
    });
  });

  it('keeps developer instructions, but nothing else added to them', () => {
    const added = {
      ...foreign,
      content: [
        { type: 'input_text', text: 'Ours.' },
        { type: 'input_text', text: '<git_attribution>' },
      ],
    };
    const front = { ...FIRST, developerInstructions: 'Ours.' };
    expect(restoreInput([tools, added, ...injected], exact, front)).toEqual({
      input: [
        tools,
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Ours.' }] },
        ...exact,
      ],
      added: 0,
      missing: 0,
      isLost: false,
    });
  });

  it('restores what the app-server dropped, and reports if nothing was found', () => {
    expect(restoreInput(injected.slice(1, -1), exact, FIRST)).toEqual({
      input: exact,
      added: 0,
      missing: 2,
      isLost: false,
    });
    expect(restoreInput([foreign], exact, FIRST)).toEqual({
      input: [foreign],
      added: 0,
      missing: exact.length,
      isLost: true,
    });
  });
});
