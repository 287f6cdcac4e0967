import { describe, expect, it } from 'vitest';

import { directLogin } from '../home/backend.ts';
import { EDIT_FIELDS, PLAIN_PARAMETERS, profileOf } from './profile.ts';

const provider = { kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null } as const;
const chatgpt = directLogin('chatgpt');
const apiKey = directLogin('api-key');

describe('backend profiles', () => {
  it('take everything, except for the backend of a ChatGPT login', () => {
    const all = {
      takes: new Set(EDIT_FIELDS),
      tiers: null,
      wantsInstructions: false,
      isChatgpt: false,
    };
    expect(profileOf(provider, null)).toEqual(all);
    expect(profileOf(apiKey, null)).toEqual(all);
    expect(profileOf(chatgpt, null)).toEqual({
      takes: new Set([
        'client_metadata',
        'prompt_cache_key',
        'include',
        'tool_choice',
        'reasoning.context',
        'text.verbosity',
        'text.format',
        'service_tier',
        'reasoning.encrypted_content',
        'tools',
        'parallel_tool_calls',
        'image_detail',
      ]),
      tiers: new Set(['priority']),
      wantsInstructions: true,
      isChatgpt: true,
    });
  });

  it('are what the operator says, for plain parameters', () => {
    const structural = EDIT_FIELDS.filter((field) => !PLAIN_PARAMETERS.has(field));
    expect(profileOf(provider, ['none']).takes).toEqual(new Set(structural));
    expect(profileOf(provider, ['temperature', 'top_p']).takes).toEqual(
      new Set([...structural, 'temperature', 'top_p']),
    );
    expect(profileOf(provider, ['all']).takes).toEqual(new Set(EDIT_FIELDS));
    expect(profileOf(chatgpt, ['temperature']).takes.has('temperature')).toBe(true);
    expect(profileOf(chatgpt, ['all']).takes.has('system_role')).toBe(false);
    // Not plain: the operator cannot take it away by forgetting it.
    expect(profileOf(provider, ['temperature', 'nonsense']).takes.has('tool_choice')).toBe(true);
  });
});
