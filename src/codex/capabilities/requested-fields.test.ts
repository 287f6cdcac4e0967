import { describe, expect, it } from 'vitest';

import { NO_SAMPLING, turnRequest } from '../../../test/support/turn-request.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { directLogin } from '../home/backend.ts';
import { profileOf, type EditField } from './profile.ts';
import { plainValues, ineffectiveSettings, requestedFields } from './requested-fields.ts';
import { reachesBackend, type FieldSupport } from './field-support.ts';

const PROVIDER = profileOf({ kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null }, null);
const CHATGPT = profileOf(directLogin('chatgpt'), null);
const nothing: FieldSupport['refuses'] = new Set();
const WAYS = {
  'a provider': { profile: PROVIDER, requestFormat: 'responses', refuses: nothing },
  'a provider that refuses': {
    profile: PROVIDER,
    requestFormat: 'responses',
    refuses: new Set(['temperature', 'include']),
  },
  'the Responses format': { profile: CHATGPT, requestFormat: 'responses', refuses: nothing },
  'the codex format': { profile: CHATGPT, requestFormat: 'codex', refuses: nothing },
} as const satisfies Record<string, FieldSupport>;

const missedOn = (support: keyof typeof WAYS | 'no field', different: Partial<TurnRequest>) => {
  const request = turnRequest(different);
  if (support === 'no field') return ineffectiveSettings(request, () => false);
  return ineffectiveSettings(request, reachesBackend(request, WAYS[support]));
};

describe('settings that only the model request can carry', () => {
  it('exclude defaults and settings that do not change the answer', () => {
    const request = turnRequest({
      sampling: { ...NO_SAMPLING, temperature: 1, topP: 1 },
      metadata: { a: 'b' },
      user: 'u',
      safetyIdentifier: 's',
      cache: { key: 'k', retention: '24h', options: null },
      toolChoice: { mode: 'none' },
      serviceTier: 'auto',
      maxOutputTokens: 7,
      stop: ['x'],
    });
    expect(requestedFields(request)).toEqual([]);
    expect(plainValues(request)).toEqual([
      ['temperature', 1],
      ['top_p', 1],
      ['prompt_cache_retention', '24h'],
      ['metadata', { a: 'b' }],
      ['user', 'u'],
      ['safety_identifier', 's'],
    ]);
  });

  const all: Partial<TurnRequest> = {
    sampling: { temperature: 0, topP: 0.5, presencePenalty: 1, frequencyPenalty: 1, seed: 1 },
    include: ['message.output_text.logprobs'],
    logprobs: { top: 2, isNeeded: false },
    truncation: 'auto',
    cache: { key: null, retention: null, options: { mode: 'x' } },
    toolChoice: { mode: 'required' },
    verbosity: 'low',
    serviceTier: 'flex',
  };
  const sampling: readonly Path[] = [
    'sampling.temperature',
    'sampling.topP',
    'sampling.presencePenalty',
    'sampling.frequencyPenalty',
    'sampling.seed',
  ];
  const include = { include: 'message.output_text.logprobs' };
  it.each([
    [
      'no field',
      [...sampling, include, 'logprobs.top', 'truncation', 'cache.options', 'verbosity', 'serviceTier'],
    ],
    ['a provider', []],
    ['a provider that refuses', ['sampling.temperature', include]],
    ['the Responses format', [...sampling, 'logprobs.top', 'truncation', 'cache.options', 'serviceTier']],
    ['the codex format', [...sampling, 'logprobs.top', 'truncation', 'cache.options', 'serviceTier']],
  ] satisfies [Parameters<typeof missedOn>[0], readonly Path[]][])(
    'have no effect: %s',
    (support, missed) => {
      expect(missedOn(support, all)).toEqual(missed);
    },
  );

  it('include what a backend has refused, and service tiers that it does not have', () => {
    const withoutVerbosity = { ...WAYS['a provider'], refuses: new Set<EditField>(['text.verbosity']) };
    const request = turnRequest({ verbosity: 'low' });
    expect(ineffectiveSettings(request, reachesBackend(request, withoutVerbosity))).toEqual(['verbosity']);
    expect(missedOn('a provider', { verbosity: 'low' })).toEqual([]);
    const tiers = ['priority', 'fast', 'flex', 'default', 'auto', null];
    const lacking = (support: keyof typeof WAYS) =>
      tiers.filter((serviceTier) => missedOn(support, { serviceTier }).length > 0);
    expect([lacking('the Responses format'), lacking('a provider')]).toEqual([['flex'], []]);
  });

  it('include a limit of hosted calls only if there are hosted tools', () => {
    const tools = [{ kind: 'hosted', raw: { type: 'web_search' } }] as const;
    expect(missedOn('the Responses format', { maxToolCalls: 2 })).toEqual([]);
    expect(missedOn('the Responses format', { maxToolCalls: 2, tools })).toEqual(['maxToolCalls']);
    expect(missedOn('a provider', { maxToolCalls: 2, tools })).toEqual([]);
    expect(plainValues(turnRequest({ maxToolCalls: 2 }))).toEqual([['max_tool_calls', 2]]);
  });
});
