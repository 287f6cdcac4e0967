import { describe, expect, it } from 'vitest';

import { read, refusal, user } from '../../../../test/support/responses-ask.ts';
import { refused } from '../../../../test/support/refused.ts';
import { turnRequest, NO_SAMPLING } from '../../../../test/support/turn-request.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { Path } from '../../../canonical/request/path.ts';
import { parameterName } from '../../../apis/parameters.ts';

describe('toTurnRequest', () => {
  it('parses the smallest request', () => {
    expect(read({ model: 'gpt-5.5', input: 'hi' }).request).toEqual(turnRequest({ canApprove: true }));
  });

  it('keeps every item with its type, order, ids and argument strings', () => {
    const { request, ignored } = read({
      model: 'gpt-5.5',
      input: [
        { role: 'system', content: 's' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'd' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'input_file', filename: 'a.md', file_data: 'data:text/markdown;base64,IyBI' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 't' }],
          encrypted_content: 'E',
        },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
            { type: 'refusal', refusal: 'no' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{ "a" : 1}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'o' }] },
        { type: 'custom_tool_call', id: 'ctc', call_id: 'c2', name: 'g', input: 'raw' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'out' },
        { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
        { type: 'compaction', id: 'cmp', encrypted_content: 'Z' },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr', approve: true },
      ],
    });
    expect(ignored).toEqual([]);
    expect(request.items).toEqual([
      { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 's' }] },
      { kind: 'message', role: 'developer', parts: [{ kind: 'text', text: 'd' }] },
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'look' },
          { kind: 'image', url: 'data:image/png;base64,AAAA', detail: 'high' },
          { kind: 'audio', data: 'AAAA', format: 'wav' },
          {
            kind: 'file',
            raw: { type: 'input_file', filename: 'a.md', file_data: 'data:text/markdown;base64,IyBI' },
          },
        ],
      },
      { kind: 'reasoning', id: 'rs_1', summary: ['t'], encryptedContent: 'E' },
      {
        kind: 'message',
        id: 'msg_1',
        role: 'assistant',
        phase: 'commentary',
        parts: [
          { kind: 'text', text: 'a' },
          { kind: 'refusal', text: 'no' },
        ],
      },
      { kind: 'tool-call', tool: 'function', callId: 'c1', name: 'f', input: '{ "a" : 1}' },
      { kind: 'tool-output', tool: 'function', callId: 'c1', output: [{ kind: 'text', text: 'o' }] },
      { kind: 'tool-call', tool: 'custom', id: 'ctc', callId: 'c2', name: 'g', input: 'raw' },
      { kind: 'tool-output', tool: 'custom', callId: 'c2', output: 'out' },
      {
        kind: 'hosted-call',
        id: 'ws',
        raw: {
          type: 'web_search_call',
          id: 'ws',
          status: 'completed',
          action: { type: 'search', query: 'q' },
        },
      },
      { kind: 'compaction', id: 'cmp', encryptedContent: 'Z' },
      {
        kind: 'opaque',
        raw: { type: 'mcp_approval_response', approval_request_id: 'mcpr', approve: true },
      },
    ]);
  });

  it('drops an empty assistant message, and still names later locations correctly', () => {
    const empty = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: '', annotations: [] }],
    };
    expect(read({ model: 'm', input: [user('a'), empty, user('b')] }).names.places).toEqual([
      'input[0]',
      'input[2]',
    ]);
    expect(
      refusal({ model: 'm', input: [empty, { type: 'function_call_output', call_id: 'x', output: '' }] }),
    ).toEqual({
      status: 400,
      code: 'unpaired_tool_call',
      param: 'input',
      message: 'No tool call found for function call output with call_id x.',
    });
  });

  it('continues a conversation, with or without anything new', () => {
    const chain = read({ model: 'm', input: [user('a')] }).input;
    const continued = { model: 'm', previous_response_id: 'resp_1' };
    const texts = (body: object) =>
      read(body, { chain }).request.items.map((item) => (item.kind === 'message' ? item.parts : item.kind));
    const [a, b] = ['a', 'b'].map((text) => [{ kind: 'text', text }]);
    expect(texts({ ...continued, input: 'b' })).toEqual([a, b]);
    for (const input of [undefined, null, []]) expect(texts({ ...continued, input })).toEqual([a]);
    expect(refusal({ model: 'm' })).toMatchObject({ code: 'missing_required_parameter', param: 'input' });
    expect(refusal({ ...continued, input: [] })).toMatchObject({ code: 'empty_array', param: 'input' });
  });

  it('pairs calls and outputs with those of the continued conversation', () => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c', output: '1' };
    const { input: chain } = read({
      model: 'm',
      input: [user('a'), call, output, { ...call, call_id: 'd' }, { ...output, call_id: 'd' }],
    });
    const open = chain.slice(0, -1);
    const next = (input: readonly unknown[], before: readonly Item[] = open) =>
      read({ model: 'm', input, previous_response_id: 'resp_1' }, { chain: before });
    expect(next([{ ...output, call_id: 'd' }]).request.items).toHaveLength(5);
    expect(refused(() => next([user('b')]))).toMatchObject({
      kind: 'unpaired_tool_call',
      param: 'input',
      message: 'No tool output found for function call d.',
    });
    expect(refused(() => next([{ ...output, call_id: 'e' }], chain))).toMatchObject({
      message: 'No tool call found for function call output with call_id e.',
    });
  });

  it('resolves aliases; an explicit effort overrides that of the alias', () => {
    const settings = (body: object) => {
      const { request } = read({ input: 'x', ...body });
      return [request.model, request.reasoning.effort];
    };
    expect([
      settings({ model: 'gpt-6-high' }),
      settings({ model: 'gpt-6-high', reasoning: { effort: 'low' } }),
      settings({ model: 'codex-5' }),
      settings({ model: 'codex-5.2-high' }),
      settings({ model: 'llama-high' }),
    ]).toEqual([
      ['gpt-6', 'high'],
      ['gpt-6', 'low'],
      ['gpt-6', null],
      ['gpt-6', 'high'],
      ['llama-high', null],
    ]);
  });

  it('names every field without effect, except those with their default value', () => {
    const { ignored } = read({
      model: 'llama',
      input: [{ role: 'user', content: 'x', name: 'bob' }],
      store: true,
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: true, defer_loading: true }],
      made_up: 1,
      reasoning: { effort: 'low', made_up: 'x' },
    });
    expect(ignored).toEqual(['made_up', 'reasoning.made_up', 'input[0].name']);
    expect(read({ model: 'gpt-6', input: 'x', store: false, stream_options: {} }).ignored).toEqual([]);
  });

  it("keeps every setting, and knows the client's name for it", () => {
    const { request, names } = read({
      model: 'llama',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,', detail: 'low' }] }],
      temperature: 0.5,
      top_p: 1,
      truncation: 'auto',
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      text: { verbosity: 'low' },
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: true }],
      tool_choice: 'required',
    });
    const { sampling, truncation, metadata, include, verbosity } = request;
    expect({ sampling, truncation, metadata, include, verbosity }).toEqual({
      sampling: { ...NO_SAMPLING, temperature: 0.5, topP: 1 },
      truncation: 'auto',
      metadata: { a: 'b' },
      include: ['message.output_text.logprobs'],
      verbosity: 'low',
    });
    const paths: readonly Path[] = [
      'sampling.topP',
      'toolChoice',
      'verbosity',
      { include: 'message.output_text.logprobs' },
      { item: 0 },
      { imageDetail: { item: 0, of: 'content', part: 0 } },
      { tool: 0 },
    ];
    expect(paths.map((path) => parameterName(path, names))).toEqual([
      'top_p',
      'tool_choice',
      'text.verbosity',
      'include.message.output_text.logprobs',
      'input[0]',
      'input[0].content[0].detail',
      'tools[0]',
    ]);
    const plain = { truncation: 'disabled', tool_choice: 'auto', top_logprobs: 0, presence_penalty: 0 };
    const { request: usual } = read({ model: 'gpt-6', input: 'x', ...plain });
    expect(usual).toEqual(read({ model: 'gpt-6', input: 'x' }).request);
  });

  it("drops the client's prompts if configured, and names them", () => {
    const { request, names, ignored } = read(
      { model: 'm', instructions: 'i', input: [{ role: 'developer', content: 'd' }, user('u')] },
      { ignoreClientPrompt: true },
    );
    expect([request.instructions, request.items.length, ignored, names.places]).toEqual([
      null,
      1,
      ['instructions', 'input[0]'],
      ['input[1]'],
    ]);
  });
});
