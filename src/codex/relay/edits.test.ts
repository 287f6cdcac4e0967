import { describe, expect, it } from 'vitest';

import type { ToolChoice, TurnRequest } from '../../canonical/turn-request.ts';
import type { Json, JsonObject } from '../../kit/json.ts';
import { NO_SAMPLING, turnRequest } from '../../../test/support/turn-request.ts';
import type { Approach } from '../translate/approach.ts';
import {
  NEUTRAL_INSTRUCTIONS,
  requestEdits,
  type EditContext,
  type InputFindings,
  type BackendLimits,
  type ThreadShape,
} from './edits.ts';
import { EDIT_FIELDS, profileOf, type EditField } from '../capabilities/profile.ts';

const SESSION = {
  threadId: 'thread-1',
  cacheKey: 'cache-key',
  session: 'session-1',
  slug: 'gpt-5.5',
  model: 'gpt-5.5',
};
const SHAPE: ThreadShape = {
  approach: { lane: 'full', slug: 'gpt-5.5', instructions: 'field', reasoning: 'kept' },
  injected: { instructions: null, items: [] },
  developerInstructions: null,
  saysVerbosity: false,
};
const PROVIDER = profileOf({ kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null }, null);
const CHATGPT = profileOf(
  {
    kind: 'login',
    login: 'chatgpt',
    baseUrl: null,
    chatgptBaseUrl: null,
    refreshUrl: null,
    revokeUrl: null,
  },
  null,
);
const everything: BackendLimits = { profile: PROVIDER, refuses: new Set() };
const nothing: EditContext = { without: new Set(), isFirstRequest: true, onInput() {} };

const ENCRYPTED = 'reasoning.encrypted_content';
const body: JsonObject = {
  model: 'gpt-5.5',
  stream: true,
  input: [],
  tool_choice: 'auto',
  include: [ENCRYPTED],
  prompt_cache_key: 'thread-1',
  text: { verbosity: 'low' },
};

const edited = (
  request: Partial<TurnRequest>,
  on: JsonObject = body,
  profile: BackendLimits['profile'] = PROVIDER,
): JsonObject =>
  requestEdits(turnRequest(request), SHAPE, SESSION, { ...everything, profile }).apply(on, nothing);

describe('sent edits', () => {
  it('change nothing but the cache key where nothing was asked for', () => {
    expect(edited({})).toEqual({ ...body, prompt_cache_key: 'cache-key' });
  });

  it("hold the client's instructions in their own field, where the backend can be told", () => {
    const apply = (
      instructions: string | null,
      profile: BackendLimits['profile'],
      shape: Partial<ThreadShape> & { as?: 'message'; lane?: 'lite' } = {},
    ): unknown => {
      const { as = 'field', lane = 'full', ...rest } = shape;
      const approach: Approach = { ...SHAPE.approach, instructions: as, lane };
      const edits = requestEdits(turnRequest({ instructions }), { ...SHAPE, approach, ...rest }, SESSION, {
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
    expect(apply('Be kind.', CHATGPT, { as: 'message', lane: 'lite' })).toBeUndefined();
  });

  it('give a model its own name back, wherever codex says it', () => {
    const twin = { ...SESSION, slug: 'gpt-5.5--full' };
    const approach = { ...SHAPE.approach, slug: twin.slug };
    const edits = requestEdits(turnRequest(), { ...SHAPE, approach }, twin, {
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

  it('leave to the lite lane what it has no place for', () => {
    const shape = { ...SHAPE, approach: { ...SHAPE.approach, lane: 'lite' } } as const;
    const request = turnRequest({ toolChoice: { mode: 'required' }, parallelToolCalls: false });
    const edits = requestEdits(request, shape, SESSION, { profile: CHATGPT, refuses: new Set() });
    expect(edits.fields).toEqual(new Set(['prompt_cache_key', ENCRYPTED]));
  });

  it('know which service tiers a ChatGPT login has', () => {
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

  it("put the client's items in place of the app-server's, and say what was found", () => {
    const found: InputFindings[] = [];
    const items = [
      { kind: 'message', role: 'system', id: 'msg_own', parts: [{ kind: 'text', text: 'Be kind.' }] },
    ] as const;
    const shape = { ...SHAPE, injected: { instructions: null, items } };
    const edits = requestEdits(turnRequest({ items }), shape, SESSION, everything);
    const input = [
      { type: 'message', id: 'msg_x', role: 'developer', content: [] },
      { type: 'message', id: 'px_0', role: 'developer', content: [] },
    ];
    const applied = edits.apply({ input }, { ...nothing, onInput: (one) => found.push(one) });
    expect(applied['input']).toEqual([
      {
        type: 'message',
        id: 'msg_own',
        role: 'system',
        content: [{ type: 'input_text', text: 'Be kind.' }],
      },
    ]);
    expect(found).toEqual([{ added: 1, missing: 0, isLost: false }]);
  });

  it('set plain parameters as they are', () => {
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

  it('force, forbid and narrow the choice of tools', () => {
    const choices: readonly (readonly [ToolChoice, Json])[] = [
      [{ mode: 'auto' }, 'auto'],
      [{ mode: 'none' }, 'none'],
      [{ mode: 'required' }, 'required'],
      [
        { mode: 'function', name: 'f' },
        { type: 'function', name: 'f' },
      ],
      [
        { mode: 'allowed', required: true, names: ['f', 'g'] },
        {
          type: 'allowed_tools',
          mode: 'required',
          tools: [
            { type: 'function', name: 'f' },
            { type: 'function', name: 'g' },
          ],
        },
      ],
      [
        { mode: 'allowed', required: false, names: ['f'] },
        { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      ],
    ];
    for (const [toolChoice, sent] of choices) expect(edited({ toolChoice })['tool_choice']).toEqual(sent);
    expect(edited({ parallelToolCalls: false })['parallel_tool_calls']).toBe(false);
    const oneAtATime = { ...body, parallel_tool_calls: false };
    expect(edited({ parallelToolCalls: true }, oneAtATime, CHATGPT)['parallel_tool_calls']).toBe(false);
  });

  it('restore tools wherever they stand, and touch no others', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: 'x' }, b: true } };
    const tools = [
      { kind: 'function' as const, name: 'f', description: 'Does f.', parameters, strict: true },
      { kind: 'function' as const, name: 'bare', description: null, parameters: null, strict: null },
    ];
    const thin = { type: 'function', name: 'f', description: 'Does f.', strict: false, parameters: {} };
    const bare = { type: 'function', name: 'bare', description: '', strict: false, parameters: { x: 1 } };
    const other = { type: 'web_search' };
    const nameless = { type: 'function', name: 7 };
    const exact = [
      { type: 'function', name: 'f', description: 'Does f.', strict: true, parameters },
      { type: 'function', name: 'bare' },
      other,
      nameless,
      'odd',
    ];
    const sent = [thin, bare, other, nameless, 'odd'];
    expect(edited({ tools }, { ...body, tools: sent })['tools']).toEqual(exact);
    const filledIn = { type: 'function', name: 'bare', strict: false, parameters: { x: 1 } };
    expect(edited({ tools }, { ...body, tools: [bare] }, CHATGPT)['tools']).toEqual([filledIn]);
    const lite = {
      ...body,
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', tools: sent }],
        },
        { type: 'message', role: 'user', content: [] },
      ],
    };
    const isLater = { ...nothing, isFirstRequest: false };
    expect(requestEdits(turnRequest({ tools }), SHAPE, SESSION, everything).apply(lite, isLater)).toEqual({
      ...lite,
      prompt_cache_key: 'cache-key',
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', tools: exact }],
        },
        { type: 'message', role: 'user', content: [] },
      ],
    });
    expect(edited({ tools }, { ...body, input: 'text', tools: 'odd' })).toEqual({
      ...body,
      input: 'text',
      tools: 'odd',
      prompt_cache_key: 'cache-key',
    });
  });

  it('say the format in full, keep the verbosity of codex, and add one that codex drops', () => {
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
    const told = { ...SHAPE, saysVerbosity: true };
    const edits = requestEdits(turnRequest({ verbosity: 'high' }), told, SESSION, everything);
    expect(edits.fields).toEqual(new Set(['prompt_cache_key', ENCRYPTED]));
  });

  it('add to what is included, once', () => {
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
      prompt_cache_key: 'cache-key',
      instructions: '',
      client_metadata: { thread_id: 'session-1', window: 'session-1:0', turn_id: 't', odd: 7 },
    });
  });

  it('leave out what the backend does not take, and what it has refused', () => {
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
});
