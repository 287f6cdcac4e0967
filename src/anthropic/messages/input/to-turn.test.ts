import { describe, expect, it } from 'vitest';

import { createModelNames } from '../../../canonical/models/model-names.ts';
import { PLAIN_REQUEST } from '../../../canonical/request/turn-request.ts';
import { read, USER } from '../../../../test/support/messages-ask.ts';
import { knownModel, modelList } from '../../../../test/support/models.ts';
import { refused } from '../../../../test/support/refused.ts';

const ask = (body: object) => read({ messages: [USER], ...body });
const HI = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hi.' }] };
const STRICT = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const jsonSchema = (schema: object) => ({ type: 'json_schema', schema });

describe('the fields of a request', () => {
  it('have defaults', () => {
    const { request, ignored, thinking, session, formatPlace } = ask({});
    expect(request).toEqual({
      ...PLAIN_REQUEST,
      parsesArguments: true,
      needsUsage: true,
      model: 'gpt-6',
      items: [HI],
      maxOutputTokens: 100,
    });
    expect({ ignored, thinking, session, formatPlace }).toEqual({
      ignored: [],
      thinking: null,
      session: null,
      formatPlace: 'output_config.format.schema',
    });
  });

  it('reach the turn request', () => {
    const { request, ignored } = ask({
      stop_sequences: ['END', '\n\nHuman:', 'a', 'b', 'c'],
      temperature: 0.5,
      top_p: 0.9,
      speed: 'fast',
      stream: true,
      output_config: { effort: 'high', format: jsonSchema(STRICT) },
      thinking: { type: 'adaptive', display: 'updates', block_binding: { mode: 'drop_block' } },
      cache_control: { type: 'ephemeral' },
      service_tier: 'auto',
      metadata: { user_id: 'device' },
      mcp_servers: [],
      container: null,
    });
    expect(request).toEqual({
      ...PLAIN_REQUEST,
      parsesArguments: true,
      needsUsage: true,
      model: 'gpt-6',
      items: [HI],
      maxOutputTokens: 100,
      stop: ['END', '\n\nHuman:', 'a', 'b', 'c'],
      sampling: { ...PLAIN_REQUEST.sampling, temperature: 0.5, topP: 0.9 },
      serviceTier: 'priority',
      reasoning: { effort: 'high', summary: 'auto', context: null },
      format: {
        kind: 'json-schema',
        name: 'codex_output_schema',
        description: null,
        schema: STRICT,
        strict: true,
      },
    });
    expect(ignored).toEqual([]);
  });

  it('are named if they have no effect', () => {
    const { ignored } = ask({
      top_k: 5,
      compaction: {},
      diagnostics: { previous_message_id: 'msg_1' },
      fallbacks: [],
      fallback_credit_token: 'x',
      inference_geo: 'eu',
      user_profile_id: 'x',
      workspace_id: 'x',
      context_management: { edits: [{ type: 'compact_20260112' }], other: 1 },
      output_config: { task_budget: {} },
      metadata: { other: 1 },
      thinking: { type: 'enabled', budget_tokens: 1024, other: 1 },
      unknown: 1,
    });
    expect(ignored.toSorted()).toEqual([
      'compaction',
      'context_management',
      'context_management.other',
      'diagnostics',
      'fallback_credit_token',
      'fallbacks',
      'inference_geo',
      'metadata.other',
      'output_config.task_budget',
      'thinking.other',
      'top_k',
      'unknown',
      'user_profile_id',
      'workspace_id',
    ]);
  });

  it.each([{ edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }, { edits: [] }, {}])(
    'are not named if they ask for what happens anyway: %j',
    (edits) => expect(ask({ context_management: edits }).ignored).toEqual([]),
  );

  it.each([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ model: undefined }, 'model'],
    [{ messages: undefined }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'tool', content: '' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'assistant', content: null }] }, 'messages[0].content'],
    [{ messages: ['Hi.'] }, 'messages[0]'],
    [{ stop_sequences: ['a', ' \n'] }, 'stop_sequences[1]'],
    [{ temperature: 1.5 }, 'temperature'],
    [{ container: 'container_1' }, 'container'],
    [{ mcp_servers: [{ type: 'url' }] }, 'mcp_servers[0].name'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'on' } }, 'thinking.type'],
    [{ output_config: { effort: 'extreme' } }, 'output_config.effort'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ output_format: { type: 'text' } }, 'output_format.type'],
    [{ speed: 'slow' }, 'speed'],
    [{ messages: [USER, { role: 'system', content: '', clear_at: 'later' }] }, 'messages[1].clear_at'],
  ])('%j is rejected by name', (body, param) => {
    const failure = refused(() => ask(body));
    expect([failure.status, failure.param]).toEqual([400, param]);
  });

  it('include the session of Claude Code', () => {
    const sessionOf = (user_id: string) => ask({ metadata: { user_id } }).session;
    expect(sessionOf(JSON.stringify({ device_id: 'd', session_id: 's' }))).toBe('s');
    expect(sessionOf('user_0a_account_1b_session_2c-3d')).toBe('2c-3d');
    expect(['{', '{}', 'user_1', '', '_session_'].map(sessionOf)).toEqual([null, null, null, null, null]);
    expect(ask({ metadata: { user_id: 'user_1' } }).request).toEqual(ask({}).request);
  });
});

describe('the output format', () => {
  it('has an older name', () => {
    const { request, formatPlace, names } = ask({ output_format: jsonSchema(STRICT) });
    expect(request.format).toMatchObject({ kind: 'json-schema', strict: true });
    expect([formatPlace, names.settings.format]).toEqual(['output_format.schema', 'output_format']);
  });

  it('is rejected if both names mean something else', () => {
    const both = { output_format: jsonSchema({}), output_config: { format: jsonSchema(STRICT) } };
    expect(refused(() => ask(both)).param).toBe('output_format');
    const same = { output_format: jsonSchema(STRICT), output_config: { format: jsonSchema(STRICT) } };
    expect(ask(same).request.format).toMatchObject({ kind: 'json-schema' });
  });

  it.each([
    ['has optional properties', { ...STRICT, required: [] }],
    ['allows other properties', { ...STRICT, additionalProperties: true }],
    ['does so below', { ...STRICT, properties: { city: { anyOf: [{ type: 'object' }] } } }],
  ])('is not strict if the schema %s', (_, schema) => {
    expect(ask({ output_config: { format: jsonSchema(schema) } }).request.format).toMatchObject({
      strict: null,
    });
  });
});

describe('the effort', () => {
  const efforts = ['minimal', 'low', 'medium', 'high', 'xhigh'];
  const models = createModelNames(modelList([knownModel('gpt-6', { efforts }), knownModel('other')]));
  const effortOf = (body: object): string | null =>
    read({ messages: [USER], ...body }, { models }).request.reasoning.effort;
  const effort = (value: string) => ({ output_config: { effort: value } });
  const system = (value?: string) => ({
    role: 'system',
    content: 'Now.',
    ...(value === undefined ? {} : effort(value)),
  });

  it.each([
    [{}, null],
    [effort('xhigh'), 'xhigh'],
    [effort('max'), 'xhigh'],
    [{ ...effort('max'), model: 'other' }, 'max'],
    [{ thinking: { type: 'adaptive' } }, null],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 4_096 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_384 } }, 'high'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_384 }, ...effort('low') }, 'low'],
    [{ thinking: { type: 'disabled' } }, 'minimal'],
    [{ thinking: { type: 'disabled' }, model: 'other' }, 'low'],
    [{ thinking: { type: 'disabled' }, ...effort('medium') }, 'medium'],
    [{ model: 'gpt-6-high', ...effort('low') }, 'high'],
    [{ messages: [USER, system('low'), system('high'), system()], ...effort('medium') }, 'high'],
  ])('of %j is %j', (body, expected) => {
    expect(effortOf(body)).toBe(expected);
  });

  it('of a request is named if the name of the model has another one', () => {
    const { ignored } = read({ messages: [USER], model: 'gpt-6-high', ...effort('low') }, { models });
    expect(ignored).toEqual(['output_config.effort']);
    const same = read({ messages: [USER], model: 'gpt-6-high', ...effort('high') }, { models });
    expect(same.ignored).toEqual([]);
  });
});

describe('thinking', () => {
  it.each([
    [undefined, null, null],
    [{ type: 'disabled' }, null, null],
    [{ type: 'adaptive' }, 'summarized', 'auto'],
    [{ type: 'adaptive', display: null }, 'summarized', 'auto'],
    [{ type: 'adaptive', display: 'updates' }, 'summarized', 'auto'],
    [{ type: 'enabled', budget_tokens: 2_000, display: 'omitted' }, 'omitted', null],
  ])('%j is shown as %j', (thinking, display, summary) => {
    const { request, thinking: shown } = ask({ thinking });
    expect([shown, request.reasoning.summary]).toEqual([display, summary]);
  });
});
