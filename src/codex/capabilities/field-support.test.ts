import { describe, expect, it } from 'vitest';

import type { Setting } from '../../canonical/request/path.ts';
import { directLogin } from '../home/backend.ts';
import { profileOf, type EditField } from './profile.ts';
import { handlingOf, supportsField, type FieldSupport } from './field-support.ts';

const chatgpt = profileOf(directLogin('chatgpt'), null);
const through =
  (support: Omit<FieldSupport, 'refuses'>) =>
  (field: EditField): boolean =>
    supportsField(field, support);
const WAYS = [
  () => false,
  through({ profile: profileOf({ kind: 'demo', baseUrl: 'http://x' }, null), requestFormat: 'responses' }),
  through({ profile: chatgpt, requestFormat: 'responses' }),
  through({ profile: chatgpt, requestFormat: 'codex' }),
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
    expect(WAYS.map((canSet) => handlingOf(setting, canSet)).join(' ')).toBe(fates);
  });
});
