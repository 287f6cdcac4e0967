import { describe, expect, it } from 'vitest';

import { askedCall, askedFor, declineOf, staysInSandbox } from './server-requests.ts';

const COMMAND = 'item/commandExecution/requestApproval';
const PLAIN = { kind: 'command', threadId: 't', turnId: 'u', itemId: 'c1', startedAtMs: 1 };

describe('staysInSandbox', () => {
  it.each([
    ['dangerous words', COMMAND, PLAIN, '{"cmd":"rm -rf x"}', true],
    ['the default', COMMAND, { ...PLAIN, reason: null }, '{"sandbox_permissions":"use_default"}', true],
    ['leaving the sandbox', COMMAND, PLAIN, '{"sandbox_permissions":"require_escalated"}', false],
    ['another value', COMMAND, PLAIN, '{"sandbox_permissions":7}', false],
    ['arguments that are not an object', COMMAND, PLAIN, '[', false],
    ['an unknown call', COMMAND, PLAIN, null, false],
    ['a reason', COMMAND, { ...PLAIN, reason: 'Retry without sandbox?' }, '{}', false],
    ['an empty reason', COMMAND, { ...PLAIN, reason: '' }, '{}', false],
    ['more permissions', COMMAND, { ...PLAIN, additionalPermissions: {} }, '{}', false],
    ['the network', COMMAND, { ...PLAIN, networkApprovalContext: { host: 'a' } }, '{}', false],
    ['input of a program', COMMAND, { ...PLAIN, kind: 'stdin' }, '{}', false],
    ['no kind', COMMAND, { itemId: 'c1' }, '{}', false],
    ['a patch', 'item/fileChange/requestApproval', PLAIN, '{}', false],
    ['permissions', 'item/permissions/requestApproval', PLAIN, '{}', false],
    ['no parameters', COMMAND, null, '{}', false],
  ])('decides about %s', (_, method, params, given, stays) => {
    expect(staysInSandbox(method, params, given)).toBe(stays);
  });
});

it('knows what was asked for, and by which call', () => {
  expect([
    askedFor(COMMAND),
    askedFor('item/fileChange/requestApproval'),
    askedFor('mcpServer/elicitation/request'),
    askedCall(PLAIN),
    askedCall({ itemId: 7 }),
    askedCall(null),
  ]).toEqual(['escalation', 'patch', 'other', 'c1', null, null]);
});

it('declines everything else in its own format', () => {
  expect([
    declineOf(COMMAND),
    declineOf('item/tool/requestUserInput').kind,
    declineOf('unheard/of').kind,
  ]).toEqual([{ kind: 'result', result: { decision: 'decline' } }, 'error', 'error']);
});
