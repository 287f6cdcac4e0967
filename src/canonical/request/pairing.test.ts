import { describe, expect, it } from 'vitest';

import type { Item } from './item.ts';
import { findPairingProblem } from './pairing.ts';

const call = (callId: string): Item => ({
  kind: 'tool-call',
  tool: 'function',
  callId,
  name: 'f',
  input: '{}',
});
const output = (callId: string): Item => ({ kind: 'tool-output', tool: 'function', callId, output: '1' });
const customCall = (callId: string): Item => ({
  kind: 'tool-call',
  tool: 'custom',
  callId,
  name: 'f',
  input: '',
});
const customOutput = (callId: string): Item => ({ kind: 'tool-output', tool: 'custom', callId, output: '1' });
const user: Item = { kind: 'message', role: 'user', parts: [] };

describe('findPairingProblem', () => {
  it.each([
    ['nothing', []],
    ['no calls', [user]],
    ['a pair', [user, call('a'), output('a')]],
    ['something in between', [call('a'), user, output('a')]],
    ['parallel calls with their outputs in any order', [call('a'), call('b'), output('b'), output('a')]],
    ['custom tools', [customCall('a'), customOutput('a')]],
    ['an id that comes again in a later round', [call('a'), output('a'), customCall('a'), customOutput('a')]],
  ])('%s: fine', (_, items) => {
    expect(findPairingProblem(items)).toBeNull();
  });

  it.each([
    ['call-without-output', 1, [user, call('a')]],
    ['call-without-output', 0, [call('a'), call('b'), output('b')]],
    ['call-without-output', 0, [customCall('a')]],
    ['output-without-call', 1, [user, output('a')]],
    ['output-without-call', 0, [output('a'), call('a')]],
    ['output-without-call', 0, [customOutput('a')]],
    ['duplicate-call', 1, [call('a'), call('a'), output('a')]],
    ['call-without-output', 2, [call('a'), output('a'), customCall('a')]],
    ['output-without-call', 1, [call('a'), customOutput('a')]],
    ['output-without-call', 1, [customCall('a'), output('a'), output('a')]],
    ['duplicate-output', 2, [call('a'), output('a'), output('a')]],
  ] as const)('%s at %i', (kind, index, items) => {
    expect(findPairingProblem(items)).toEqual({ kind, index, callId: 'a' });
  });
});
