import { describe, expect, it } from 'vitest';

import { directLogin } from '../home/backend.ts';
import { EDIT_FIELDS, OVERRIDABLE, profileOf } from './profile.ts';

const provider = { kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null } as const;
const chatgpt = directLogin('chatgpt');
const apiKey = directLogin('api-key');

describe('backend profiles', () => {
  it('take everything, except for the backend of a ChatGPT login', () => {
    expect(profileOf(provider, null)).toEqual(new Set(EDIT_FIELDS));
    expect(profileOf(apiKey, null)).toEqual(new Set(EDIT_FIELDS));
    expect([...profileOf(chatgpt, null)]).toEqual([
      'prompt_cache_key',
      'include',
      'tool_choice',
      'text.verbosity',
      'text.format',
      'input',
      'tools',
      'parallel_tool_calls',
    ]);
  });

  it('are what the operator says, for plain parameters', () => {
    const structural = EDIT_FIELDS.filter((field) => !OVERRIDABLE.has(field));
    expect(profileOf(provider, ['none'])).toEqual(new Set(structural));
    expect(profileOf(provider, ['temperature', 'top_p'])).toEqual(
      new Set([...structural, 'temperature', 'top_p']),
    );
    expect(profileOf(provider, ['all'])).toEqual(new Set(EDIT_FIELDS));
    expect(profileOf(chatgpt, ['temperature']).has('temperature')).toBe(true);
    expect(profileOf(chatgpt, ['all']).has('system_role')).toBe(false);
    // Not plain: the operator cannot take it away by forgetting it.
    expect(profileOf(provider, ['temperature', 'nonsense']).has('tool_choice')).toBe(true);
  });
});
