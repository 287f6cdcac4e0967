import { describe, expect, it } from 'vitest';

import type { Setting } from '../../canonical/request/path.ts';
import { directLogin } from '../home/backend.ts';
import { profileOf } from './profile.ts';
import { handlingOf, type FieldSupport } from './field-support.ts';

const refuses = new Set<never>();
const chatgpt = profileOf(directLogin('chatgpt'), null);
const WAYS: readonly FieldSupport[] = [
  { profile: null, requestFormat: 'responses', refuses },
  { profile: profileOf({ kind: 'demo', baseUrl: 'http://x' }, null), requestFormat: 'responses', refuses },
  { profile: chatgpt, requestFormat: 'responses', refuses },
  { profile: chatgpt, requestFormat: 'codex', refuses },
];

describe('the handling of a setting', () => {
  it.each([
    ['items', 'mapped mapped mapped mapped'],
    ['stop', 'emulated emulated emulated emulated'],
    ['sampling.temperature', 'ignored mapped ignored ignored'],
    ['metadata', 'silent mapped silent silent'],
    ['cache.key', 'silent mapped mapped mapped'],
    ['maxOutputTokens', 'emulated mapped emulated emulated'],
    ['toolChoice', 'emulated mapped mapped emulated'],
    ['parallelToolCalls', 'emulated mapped mapped emulated'],
  ] satisfies [Setting, string][])('%s', (setting, fates) => {
    expect(WAYS.map((support) => handlingOf(setting, support)).join(' ')).toBe(fates);
  });

  it('reflects past refusals', () => {
    const [, provider] = WAYS;
    const support: FieldSupport = {
      profile: null,
      requestFormat: 'responses',
      ...provider,
      refuses: new Set(['temperature']),
    };
    expect(handlingOf('sampling.temperature', support)).toBe('ignored');
    expect(handlingOf('sampling.topP', support)).toBe('mapped');
  });
});
