import { describe, expect, it } from 'vitest';

import type { Setting } from '../../canonical/request/path.ts';
import { directLogin } from '../home/backend.ts';
import { profileOf } from './profile.ts';
import { fateOf, type Way } from './way.ts';

const refuses = new Set<never>();
const chatgpt = profileOf(directLogin('chatgpt'), null);
const WAYS: readonly Way[] = [
  { profile: null, requestFormat: 'responses', refuses },
  { profile: profileOf({ kind: 'demo', baseUrl: 'http://x' }, null), requestFormat: 'responses', refuses },
  { profile: chatgpt, requestFormat: 'responses', refuses },
  { profile: chatgpt, requestFormat: 'codex', refuses },
];

describe('what becomes of a setting', () => {
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
    expect(WAYS.map((way) => fateOf(setting, way)).join(' ')).toBe(fates);
  });

  it('is what was learnt, where something was', () => {
    const [, provider] = WAYS;
    const way: Way = {
      profile: null,
      requestFormat: 'responses',
      ...provider,
      refuses: new Set(['temperature']),
    };
    expect(fateOf('sampling.temperature', way)).toBe('ignored');
    expect(fateOf('sampling.topP', way)).toBe('mapped');
  });
});
