import { describe, expect, it } from 'vitest';

import { printPages } from '../../../../scripts/docs.ts';
import { GatewayError } from '../../../canonical/failure/failure.ts';
import { CHAT_FIELDS, rejectChatFields, RESPONSES_PARAMETERS } from './parameters.ts';

const refusal = (body: Record<string, unknown>): unknown => {
  try {
    rejectChatFields(body as never);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, param, message } = error.failure;
    return { code, param, message };
  }
};

describe('fields of Chat Completions in a Responses body', () => {
  it.each(Object.entries(CHAT_FIELDS))('%s is rejected, unless its value has no effect', (name, field) => {
    expect(refusal({ [name]: 2 })).toEqual({
      code: field.code,
      param: name,
      message: expect.stringContaining(field.why) as string,
    });
    expect(refusal({ [name]: null })).toBeNull();
    expect(refusal({ [name]: field.accepted })).toBeNull();
  });

  it('are in no table of parameters', () => {
    const listed = Object.keys(RESPONSES_PARAMETERS);
    expect(Object.keys(CHAT_FIELDS).filter((name) => listed.includes(name))).toEqual([]);
  });

  it('are listed as rejected in docs/parameters.md', () => {
    const page = printPages().get('docs/parameters.md') ?? '';
    for (const [name, { code, why }] of Object.entries(CHAT_FIELDS)) {
      expect(page).toMatch(new RegExp(`^\\| \`${name}\` \\|.*\`${code}\`.*\\|$`, 'mu'));
      expect(page).toContain(why);
    }
  });
});
