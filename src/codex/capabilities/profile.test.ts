import { describe, expect, it } from 'vitest';

import { directLogin } from '../home/backend.ts';
import { EDIT_FIELDS, LISTED_PARAMETERS, profileOf, type EditField } from './profile.ts';

const provider = { kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null } as const;
const openai = { ...provider, baseUrl: 'https://api.openai.com/v1' } as const;
const chatgpt = directLogin('chatgpt');
const apiKey = directLogin('api-key');

describe('backend profiles', () => {
  const structural = EDIT_FIELDS.filter((field) => !LISTED_PARAMETERS.has(field));

  it('accept everything, except for the backend of a ChatGPT login', () => {
    const all = {
      takes: new Set(EDIT_FIELDS),
      tiers: null,
      takesImageUrls: true,
      requiresInstructions: false,
      isChatgpt: false,
    };
    expect(profileOf(openai, null)).toEqual(all);
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
        'compaction_trigger',
      ]),
      tiers: new Set(['priority']),
      takesImageUrls: false,
      requiresInstructions: true,
      isChatgpt: true,
    });
  });

  it.each([
    ['https://api.openai.com/v1', true],
    ['https://eu.api.openai.com/v1', true],
    ['https://openai.com.example.org/v1', false],
    ['no address', false],
  ])("of other providers do not accept OpenAI's newer items: %s", (baseUrl, takes) => {
    const { takes: fields } = profileOf({ ...provider, baseUrl }, null);
    const newer = new Set<EditField>(['compaction_trigger', 'additional_tools']);
    expect(fields).toEqual(new Set(EDIT_FIELDS.filter((field) => takes || !newer.has(field))));
  });

  it("use the operator's list for plain parameters", () => {
    expect(profileOf(provider, ['none']).takes).toEqual(new Set(structural));
    expect(profileOf(provider, ['temperature', 'top_p']).takes).toEqual(
      new Set([...structural, 'temperature', 'top_p']),
    );
    expect(profileOf(provider, ['all']).takes).toEqual(new Set(EDIT_FIELDS));
    expect(profileOf(chatgpt, ['temperature']).takes.has('temperature')).toBe(true);
    expect(profileOf(chatgpt, ['all']).takes.has('system_role')).toBe(false);
    expect(profileOf(provider, ['compaction_trigger']).takes).toEqual(
      new Set([...structural, 'compaction_trigger']),
    );
    expect(profileOf(apiKey, ['none']).takes.has('compaction_trigger')).toBe(true);
    // Not a plain parameter: leaving it out of the list does not disable it.
    expect(profileOf(provider, ['temperature', 'nonsense']).takes.has('tool_choice')).toBe(true);
  });
});
