import { describe, expect, it } from 'vitest';

import { frameOf, upgradeHeaders } from './ask-socket.ts';
import { responsesDraft, codexFormatDraft, OWN_REASONING } from './conforming.ts';
import type { Draft } from './conforming.ts';
import { textOf } from './rule.ts';
import type { Carrier, FrameFacts, Seen } from './rule.ts';
import { ROWS, type Row } from './rule-breaks.ts';
import { brokenRules, refusalOf, RULES } from './rules.ts';
import { standardSettings } from './settings.ts';

const memory = {
  issued: new Map([[OWN_REASONING, 'acc-1']]),
  turnStates: new Map([['state-1', 'another session']]),
};

const common = (draft: Draft, settings: Row[4] = {}): Pick<Seen, 'memory' | 'model' | 'settings'> => ({
  memory,
  model: textOf(draft.body['model']),
  settings: { ...standardSettings(), ...settings },
});

const upgradeSeen = (headers: Record<string, string>): Seen => ({
  ...common(responsesDraft()),
  carrier: 'upgrade',
  headers,
  body: {},
  requestFormat: 'responses',
});

const frameSeen = (
  draft: Draft,
  requestFormat: Row[1],
  facts: Partial<FrameFacts> = {},
  settings: Row[4] = {},
): Seen => {
  const { type, ...body } = frameOf(draft);
  return {
    ...common(draft, settings),
    carrier: 'frame',
    headers: draft.headers,
    body,
    requestFormat,
    frame: { type, isEarly: false, continuesKnown: true, startMs: '1794921720089', ...facts },
  };
};

const idsOf = (seen: Seen): readonly string[] => brokenRules(seen).map(({ rule }) => rule.id);
const isOn = (id: string, carrier: Carrier): boolean =>
  (RULES.find((rule) => rule.id === id)?.on ?? ['post', 'frame']).includes(carrier);

describe('a frame', () => {
  it('breaks no rule in either request format', () => {
    expect(idsOf(frameSeen(responsesDraft(), 'responses'))).toEqual([]);
    expect(idsOf(frameSeen(codexFormatDraft(), 'codex'))).toEqual([]);
  });

  it.each(ROWS.filter(([rule]) => isOn(rule, 'frame')))('obeys %s (%s request format)', (...row) => {
    const [rule, requestFormat, change, answer, settings = {}] = row as unknown as Row;
    const draft = requestFormat === 'responses' ? responsesDraft() : codexFormatDraft();
    change(draft);
    const seen = frameSeen(draft, requestFormat, {}, settings);
    expect(idsOf(seen)).toEqual([rule]);
    expect(JSON.stringify(refusalOf(brokenRules(seen))) === 'null').toBe(answer === 'counted');
  });

  it('may have what only a socket has', () => {
    const draft = responsesDraft();
    draft.body['generate'] = false;
    delete draft.body['instructions'];
    draft.body['previous_response_id'] = 'resp_1';
    expect(idsOf(frameSeen(draft, 'responses'))).toEqual([]);
  });

  it.each([
    ['frame.type', { type: 'response.cancel' }, 400],
    ['frame.one-at-a-time', { isEarly: true }, null],
    ['frame.previous_response_id', { continuesKnown: false }, 400],
    ['frame.start-ms', { startMs: 'soon' }, null],
  ] as const)('breaks %s', (rule, facts, status) => {
    const seen = frameSeen(responsesDraft(), 'responses', facts);
    expect(idsOf(seen)).toEqual([rule]);
    expect(refusalOf(brokenRules(seen))?.status ?? null).toBe(status);
  });

  it('may bring the state of the warm-up of its session', () => {
    const draft = responsesDraft();
    draft.headers['x-codex-turn-metadata'] = '{"turn_id":"turn-1"}';
    draft.headers['x-codex-turn-state'] = 'state-2';
    const seen = frameSeen(draft, 'responses');
    const of = (issuedTo: string): Seen => ({
      ...seen,
      memory: { ...memory, turnStates: new Map([['state-2', issuedTo]]) },
    });
    expect(idsOf(of(`${draft.headers['session-id'] ?? ''} `))).toEqual([]);
    expect(idsOf(of('another '))).toEqual(['header.x-codex-turn-state']);
  });
});

describe('an upgrade', () => {
  it('breaks no rule', () => {
    expect(idsOf(upgradeSeen(upgradeHeaders(codexFormatDraft())))).toEqual([]);
  });

  it.each([
    ['header.authorization', { authorization: '' }, 401],
    ['header.chatgpt-account-id', { 'chatgpt-account-id': '' }, 401],
    ['header.forwarded', { 'x-forwarded-for': '10.0.0.1' }, null],
    ['upgrade.openai-beta', { 'openai-beta': 'responses=experimental' }, 400],
    ['upgrade.post-only', { accept: 'text/event-stream' }, null],
    ['upgrade.post-only', { 'content-type': 'application/json' }, null],
    ['upgrade.post-only', { 'x-openai-internal-codex-responses-lite': 'true' }, null],
    ['upgrade.post-only', { 'x-codex-turn-state': 'state-1' }, null],
    ['upgrade.originator', { originator: '' }, null],
    ['identity.session-id', { 'session-id': 'mine' }, null],
    ['identity.thread-id', { 'thread-id': 'mine' }, null],
    ['upgrade.x-client-request-id', { 'x-client-request-id': 'another' }, null],
  ] as const)('breaks %s with %j', (rule, change, status) => {
    const seen = upgradeSeen({ ...upgradeHeaders(responsesDraft()), ...change });
    expect(idsOf(seen)).toEqual([rule]);
    expect(refusalOf(brokenRules(seen))?.status ?? null).toBe(status);
  });
});
