import { describe, expect, it } from 'vitest';

import {
  body,
  CHATGPT,
  edited,
  ENCRYPTED,
  everything,
  first,
  nothing,
  PROVIDER,
  SESSION,
  SHAPE,
} from '../../../../test/support/edited.ts';
import { NO_SAMPLING, turnRequest } from '../../../../test/support/turn-request.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { JsonObject, Json } from '../../../kit/json/json.ts';
import { EDIT_FIELDS, type EditField } from '../../capabilities/profile.ts';
import type { RequestStrategy } from '../../translate/request-strategy.ts';
import {
  NEUTRAL_INSTRUCTIONS,
  requestEdits,
  type BackendLimits,
  type RequestShape,
  setClientFields,
  plainOutput,
} from './edits.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';

describe('request edits', () => {
  it('change only the cache key of a plain request', () => {
    expect(edited({})).toEqual({ ...body, prompt_cache_key: 'cache-key' });
  });

  it("put the client's instructions into their own field, if the backend accepts that", () => {
    const apply = (
      instructions: string | null,
      profile: BackendLimits['profile'],
      shape: Partial<RequestShape> & { as?: 'message'; requestFormat?: 'codex' } = {},
    ): unknown => {
      const { as = 'field', requestFormat = 'responses', ...rest } = shape;
      const strategy: RequestStrategy = { ...SHAPE.strategy, instructions: as, requestFormat };
      const edits = requestEdits(turnRequest({ instructions }), { ...SHAPE, strategy, ...rest }, SESSION, {
        profile,
        refuses: new Set(),
      });
      return edits.apply(body, nothing)['instructions'];
    };
    expect(apply('Be kind.', PROVIDER)).toBe('Be kind.');
    expect(apply('', PROVIDER)).toBe('');
    expect(apply(null, PROVIDER)).toBeUndefined();
    expect(apply('Be kind.', PROVIDER, { as: 'message' })).toBeUndefined();
    expect(apply('Be kind.', CHATGPT)).toBe('Be kind.');
    expect(apply(null, CHATGPT)).toBe('');
    expect(apply('Be kind.', CHATGPT, { as: 'message' })).toBe(NEUTRAL_INSTRUCTIONS);
    expect(apply('Be kind.', CHATGPT, { developerInstructions: 'Be kind.' })).toBe('');
    expect(apply('Be kind.', CHATGPT, { as: 'message', requestFormat: 'codex' })).toBeUndefined();
  });

  it("restore the model's name wherever codex writes it", () => {
    const twin = { ...SESSION, slug: 'gpt-5.5--full' };
    const strategy = { ...SHAPE.strategy, slug: twin.slug };
    const edits = requestEdits(turnRequest(), { ...SHAPE, strategy }, twin, {
      ...everything,
      profile: CHATGPT,
    });
    const client_metadata = { meta: '{"model":"gpt-5.5--full","thread_id":"thread-1"}' };
    expect(edits.apply({ model: 'gpt-5.5--full', client_metadata }, nothing)).toEqual({
      model: 'gpt-5.5',
      instructions: '',
      prompt_cache_key: 'cache-key',
      client_metadata: { meta: '{"model":"gpt-5.5","thread_id":"session-1"}' },
    });
  });

  it('skip fields that the codex format cannot express', () => {
    const shape = { ...SHAPE, strategy: { ...SHAPE.strategy, requestFormat: 'codex' } } as const;
    const request = turnRequest({ toolChoice: { mode: 'required' }, parallelToolCalls: false });
    const edits = requestEdits(request, shape, SESSION, { profile: CHATGPT, refuses: new Set() });
    expect(edits.fields).toEqual(new Set(['prompt_cache_key', ENCRYPTED]));
  });

  it('know the service tiers of a ChatGPT login', () => {
    const tierOf = (serviceTier: string | null, codex: JsonObject = {}): unknown => {
      const edits = requestEdits(turnRequest({ serviceTier }), SHAPE, SESSION, {
        profile: CHATGPT,
        refuses: new Set(),
      });
      return edits.apply({ ...body, ...codex }, nothing)['service_tier'];
    };
    expect(tierOf('priority')).toBe('priority');
    expect(tierOf('fast')).toBe('priority');
    expect(tierOf('flex', { service_tier: 'flex' })).toBeUndefined();
    expect(tierOf('default', { service_tier: 'default' })).toBeUndefined();
  });

  it("put the client's conversation into the place of the placeholder", () => {
    const items = [
      { kind: 'message', role: 'system', id: 'msg_own', parts: [{ kind: 'text', text: 'Be kind.' }] },
    ] as const;
    const shape = { ...SHAPE, injected: { instructions: null, items } };
    const edits = requestEdits(turnRequest({ items }), shape, SESSION, everything);
    const tools = { type: 'additional_tools', id: 'at_1', tools: [] };
    const call = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c', output: 'ok' };
    const carried = { tools: [tools], before: 3, after: [call, output], own: [] };
    const applied = edits.apply({ input: ['anything'] }, { ...nothing, carried });
    expect(applied['input']).toEqual([
      tools,
      {
        type: 'message',
        id: 'msg_own',
        role: 'system',
        content: [{ type: 'input_text', text: 'Be kind.' }],
      },
      call,
      output,
    ]);
    const developer = { ...shape, developerInstructions: 'Ours.' };
    const instructed = requestEdits(turnRequest({ items }), developer, SESSION, everything);
    expect(instructed.apply({ input: [] }, first)['input']).toMatchObject([
      { role: 'developer', content: [{ text: 'Ours.' }] },
      { id: 'msg_own' },
    ]);
  });

  it('write the effort and the summary that a client asks for, and keep what codex knows about the model', () => {
    const reasoning = { effort: 'high', summary: 'auto', context: null } as const;
    const codex = { ...body, reasoning: { effort: 'medium', context: 'all_turns' } };
    expect(edited({ reasoning }, codex, CHATGPT)['reasoning']).toEqual({
      effort: 'high',
      summary: 'auto',
      context: 'all_turns',
    });
    expect(edited({}, codex, CHATGPT)['reasoning']).toEqual(codex.reasoning);
    expect(edited({}, body, CHATGPT)['reasoning']).toBeUndefined();
  });

  it('set plain parameters unchanged', () => {
    const request = {
      sampling: { temperature: 0.3, topP: 0.9, presencePenalty: 1, frequencyPenalty: -1, seed: 7 },
      logprobs: { top: 2, isNeeded: false },
      truncation: 'auto',
      metadata: { a: 'b' },
      user: 'u',
      safetyIdentifier: 's',
      cache: { key: null, retention: '24h', options: { x: 1 } },
    } as const;
    expect(edited({ ...request, maxOutputTokens: 50, serviceTier: 'default' })).toEqual({
      ...body,
      prompt_cache_key: 'cache-key',
      temperature: 0.3,
      top_p: 0.9,
      presence_penalty: 1,
      frequency_penalty: -1,
      seed: 7,
      top_logprobs: 2,
      truncation: 'auto',
      metadata: { a: 'b' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_retention: '24h',
      prompt_cache_options: { x: 1 },
      max_output_tokens: 50,
      service_tier: 'default',
    });
  });

  it("write the whole format, and the verbosity over codex's", () => {
    const schema = { type: 'object' };
    const full = { kind: 'json-schema', name: 'n', description: 'd', schema, strict: true } as const;
    expect(edited({ format: full })['text']).toEqual({
      verbosity: 'low',
      format: { type: 'json_schema', name: 'n', description: 'd', schema, strict: true },
    });
    expect(edited({ format: { ...full, description: null, strict: null } }, {})['text']).toEqual({
      format: { type: 'json_schema', name: 'n', schema },
    });
    expect(edited({ format: { kind: 'json-object' } }, {})['text']).toEqual({
      format: { type: 'json_object' },
    });
    expect(edited({ verbosity: 'high' })['text']).toEqual({ verbosity: 'high' });
  });

  it('add to `include`, once', () => {
    const logprobs = 'message.output_text.logprobs';
    const include = [logprobs, logprobs];
    expect(edited({ include })['include']).toEqual([ENCRYPTED, logprobs]);
    const refusing = requestEdits(turnRequest({ include }), SHAPE, SESSION, {
      ...everything,
      refuses: new Set<EditField>([ENCRYPTED]),
    });
    expect(refusing.apply(body, nothing)['include']).toEqual([logprobs]);
    expect(edited({ include }, {})['include']).toEqual([logprobs]);
  });

  it("name one session in codex's metadata", () => {
    const client_metadata = { thread_id: 'thread-1', window: 'thread-1:0', turn_id: 't', odd: 7 };
    expect(edited({}, { client_metadata }, CHATGPT)).toEqual({
      model: 'gpt-5.5',
      prompt_cache_key: 'cache-key',
      instructions: '',
      client_metadata: { thread_id: 'session-1', window: 'session-1:0', turn_id: 't', odd: 7 },
    });
  });

  it('omit fields that the backend does not accept or has refused', () => {
    const request = turnRequest({
      sampling: { ...NO_SAMPLING, temperature: 0.3, topP: 0.9 },
      maxOutputTokens: 9,
      serviceTier: 'flex',
      toolChoice: { mode: 'required' },
    });
    const codex: JsonObject = { ...body, service_tier: 'flex' };
    const chatgpt = requestEdits(request, SHAPE, SESSION, {
      profile: { ...PROVIDER, takes: new Set<EditField>(['tool_choice', 'prompt_cache_key', ENCRYPTED]) },
      refuses: new Set(),
    });
    expect(chatgpt.fields).toEqual(new Set(['prompt_cache_key', ENCRYPTED, 'tool_choice']));
    expect(chatgpt.apply(codex, nothing)).toEqual({
      ...codex,
      prompt_cache_key: 'cache-key',
      tool_choice: 'required',
    });
    const learnt = requestEdits(request, SHAPE, SESSION, {
      profile: { ...PROVIDER, takes: new Set(EDIT_FIELDS) },
      refuses: new Set<EditField>(['temperature', 'service_tier', 'seed']),
    });
    expect(learnt.fields.has('temperature')).toBe(false);
    const { prompt_cache_key: _, service_tier: __, ...rest } = codex;
    const without = new Set<EditField>(['max_output_tokens', 'prompt_cache_key']);
    expect(learnt.apply(codex, { ...nothing, without })).toEqual({
      ...rest,
      top_p: 0.9,
      tool_choice: 'required',
    });
  });

  it('omit input features that the backend refuses, from the start or after a refusal', () => {
    const prompt_cache_breakpoint = { mode: 'explicit' };
    const items: readonly Item[] = [
      {
        kind: 'message',
        role: 'user',
        parts: [{ kind: 'text', text: 'hi', cacheBreakpoint: prompt_cache_breakpoint }],
      },
      { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '{}', more: { async: true } },
    ];
    const injected = { instructions: null, items };
    const inputOf = (refuses: readonly EditField[], without: readonly EditField[]): unknown => {
      const limits = { profile: PROVIDER, refuses: new Set(refuses) };
      const edits = requestEdits(turnRequest({ items }), { ...SHAPE, injected }, SESSION, limits);
      return edits.apply(body, { ...first, without: new Set(without) })['input'];
    };
    const expected = (part: object, call: object): unknown => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi', ...part }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', ...call },
    ];
    expect(inputOf([], [])).toEqual(expected({ prompt_cache_breakpoint }, { async: true }));
    expect(inputOf([], ['prompt_cache_breakpoint'])).toEqual(expected({}, { async: true }));
    expect(inputOf(['prompt_cache_breakpoint'], ['call_fields'])).toEqual(expected({}, {}));
  });
});

/** As codex sends it for a client that set nothing. */
const FILLED_IN: JsonObject = {
  model: 'gpt-5.5',
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: {},
  client_metadata: { turn_id: 't' },
};

const set = (request: Partial<TurnRequest>, on: JsonObject = {}, isWithheld = false): JsonObject => {
  const fields: Record<string, Json | undefined> = { ...FILLED_IN, ...on };
  setClientFields(fields, turnRequest(request), { sets: () => !isWithheld, isWithheld: () => isWithheld });
  return fields;
};

describe('setClientFields', () => {
  it('removes what codex filled in', () => {
    expect(set({})).toEqual({ model: 'gpt-5.5' });
  });

  it("restores the client's effort, which codex replaces", () => {
    const reasoning = {
      effort: 'ultra',
      effortName: 'reasoning.effort',
      summary: 'concise',
      context: null,
    } as const;
    expect(set({ reasoning }, { reasoning: { effort: 'medium' } })).toEqual({
      model: 'gpt-5.5',
      reasoning: { effort: 'ultra', summary: 'concise' },
    });
  });

  it('keeps tools and the choice among them, even without tools', () => {
    const tools = [{ type: 'function', name: 'f' }];
    expect(set({}, { tools })).toEqual({ model: 'gpt-5.5', tools, tool_choice: 'auto' });
    expect(set({ toolChoice: { mode: 'none' } }, { tool_choice: 'none' })).toEqual({
      model: 'gpt-5.5',
      tool_choice: 'none',
    });
  });

  it('sets the limit of calls, unless the backend has refused it', () => {
    expect(set({ parallelToolCalls: true }, { parallel_tool_calls: false })).toMatchObject({
      parallel_tool_calls: true,
    });
    expect(set({ parallelToolCalls: false }, {}, true)).toEqual({ model: 'gpt-5.5' });
  });
});

describe('plainOutput', () => {
  const time = { type: 'input_text', text: 'Wall time: 0.0047 seconds\nOutput:' };
  const text = { type: 'input_text', text: '5' };
  const image = { type: 'input_image', image_url: 'data:' };
  const gave = (output: unknown) => ({ type: 'function_call_output', call_id: '1', output: output as never });

  it.each([
    [[time, text], '5'],
    [[time, text, text], '5\n5'],
    [
      [time, text, image],
      [text, image],
    ],
    [[text], [text]],
    ['unsupported call', 'unsupported call'],
    ['Wall time: 0.0063 seconds\nOutput:\n{"sum":5}', '{"sum":5}'],
    ['Wall time: 0.1 seconds\nOutput:\nWall time: 1 seconds\nOutput:\n', 'Wall time: 1 seconds\nOutput:\n'],
  ])("%j becomes the tool's own output", (output, expected) => {
    expect(plainOutput(gave(output))).toEqual(gave(expected));
  });
});
