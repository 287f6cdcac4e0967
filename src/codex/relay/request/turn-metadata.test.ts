import { describe, expect, it } from 'vitest';

import {
  credentialsExpiryOf,
  turnMetadataOf,
  windowIdOf,
  withTurnNotes,
  type TurnNotes,
} from './turn-metadata.ts';
import { UUID_V7, uuidV7 } from './affinity.ts';

describe('the metadata of a model request', () => {
  it('names its kind and its turn', () => {
    const header = '{"request_kind":"compaction","turn_id":"u1","thread_id":"t1"}';
    expect(turnMetadataOf({ 'x-codex-turn-metadata': header })).toEqual({
      requestKind: 'compaction',
      turnId: 'u1',
    });
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['no JSON', '{"request_kind":"turn"'],
    ['no object', '["turn"]'],
    ['without them', '{}'],
    ['of other types', '{"request_kind":1,"turn_id":null}'],
    ['given twice', ['{"request_kind":"turn"}', '{"request_kind":"turn"}']],
  ])('is empty if it is %s', (_, header) => {
    expect(turnMetadataOf({ 'x-codex-turn-metadata': header })).toEqual({ requestKind: '', turnId: '' });
  });
});

describe('a text about the turn', () => {
  const notes: TurnNotes = {
    appServerTurnId: 'u9',
    turnId: 'u1',
    startedAtMs: 5,
    windowId: 'w1',
    effort: 'high',
  };
  const metadata = {
    request_kind: 'turn',
    turn_id: 'u9',
    root_turn_id: 'u9',
    context_window_id: 'w9',
    turn_started_at_unix_ms: 1,
    reasoning_effort: 'medium',
    sandbox: null,
    workspaces: { '/u9': { has_changes: false } },
  };

  it('gets the effort if the app-server did not know it; another text in JSON does not', () => {
    const { reasoning_effort: _, ...unknown } = metadata;
    expect(JSON.parse(withTurnNotes(JSON.stringify(unknown), notes))).toHaveProperty(
      'reasoning_effort',
      'high',
    );
    expect(withTurnNotes('{"status":"none"}', notes)).toBe('{"status":"none"}');
    const none = { ...notes, effort: null };
    expect(JSON.parse(withTurnNotes(JSON.stringify(unknown), none))).not.toHaveProperty('reasoning_effort');
  });

  it('has the id, time, window and effort of the claimed turn, and all else as it was', () => {
    const written = withTurnNotes(JSON.stringify(metadata), notes);
    expect(JSON.parse(written)).toEqual({
      request_kind: 'turn',
      turn_id: 'u1',
      root_turn_id: 'u1',
      context_window_id: 'w1',
      turn_started_at_unix_ms: 5,
      reasoning_effort: 'high',
      sandbox: null,
      workspaces: { '/u1': { has_changes: false } },
    });
    expect(Object.keys(JSON.parse(written) as object)).toEqual(Object.keys(metadata));
  });

  it('is ASCII, because it is a header', () => {
    const path = String.raw`/home/\u4e2d\u00e9\ud83d\ude00\n`;
    const named = withTurnNotes(`{"turn_id":"u9","workspaces":{"${path}":{}},"é":"~"}`, notes);
    expect(named).toBe(String.raw`{"turn_id":"u1","workspaces":{"${path}":{}},"\u00e9":"~"}`);
  });

  it('may have fields with the names of object properties', () => {
    const text = '{"constructor":"c","toString":"t","turn_id":"u9"}';
    expect(withTurnNotes(text, notes)).toBe('{"constructor":"c","toString":"t","turn_id":"u1"}');
  });

  it('keeps the effort of the app-server if the client gives none', () => {
    const written = withTurnNotes(JSON.stringify(metadata), { ...notes, effort: null });
    expect(JSON.parse(written)).toMatchObject({ reasoning_effort: 'medium', turn_started_at_unix_ms: 5 });
  });

  it('gets no fields that the app-server does not send', () => {
    expect(withTurnNotes('{"turn_id":"u9"}', notes)).toBe('{"turn_id":"u1"}');
    expect(withTurnNotes('{}', notes)).toBe('{}');
  });

  it.each([
    ['a text', 'u9:0 and u9', 'u1:0 and u1'],
    ['another text', 'plain', 'plain'],
    ['JSON of another kind', '["u9"]', '["u1"]'],
    ['JSON that is broken', '{"turn_id":"u9"', '{"turn_id":"u1"'],
    ['nothing', '', ''],
  ])('has only the id if it is not metadata: %s', (_, told, expected) => {
    expect(withTurnNotes(told, notes)).toBe(expected);
  });

  it('has no id to replace before the app-server has named the turn', () => {
    const unnamed = { ...notes, appServerTurnId: '' };
    expect(withTurnNotes('u9', unnamed)).toBe('u9');
    expect(withTurnNotes('{"turn_id":"u9","turn_started_at_unix_ms":1}', unnamed)).toBe(
      '{"turn_id":"u9","turn_started_at_unix_ms":5}',
    );
  });
});

describe('the id of a context window', () => {
  const NOW = Date.UTC(2026, 10, 5);

  it('is another UUID of the same time, always the same for a conversation', () => {
    const sessions = Array.from({ length: 50 }, () => uuidV7(NOW));
    const ids = sessions.map(windowIdOf);
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(new Set(ids.map((id) => id.slice(0, 13)))).toEqual(new Set([uuidV7(NOW).slice(0, 13)]));
    expect(new Set([...sessions, ...ids]).size).toBe(100);
    expect(sessions.map(windowIdOf)).toEqual(ids);
  });

  it('does not change between releases', () => {
    expect(windowIdOf('019a5c0b-1234-7abc-8def-0123456789ab')).toBe('019a5c0b-1234-76e3-b28a-7224762b2840');
  });
});

describe('the expiry of credentials', () => {
  const NOW = Date.UTC(2026, 10, 5);
  const bearer = (claims: string): string =>
    `Bearer header.${Buffer.from(claims).toString('base64url')}.signature`;

  it('is that of the claims of a token', () => {
    const authorization = bearer('{"exp":1800000000,"sub":"é"}');
    expect(credentialsExpiryOf({ authorization }, NOW)).toBe(1_800_000_000_000);
  });

  it('is soon for a signed request', () => {
    const claims = Buffer.from('{"exp":1800000000}').toString('base64url');
    const authorization = `AgentAssertion header.${claims}.signature`;
    expect(credentialsExpiryOf({ authorization }, NOW)).toBe(NOW + 90_000);
  });

  it.each([
    ['none', undefined],
    ['an API key', 'Bearer sk-proj-1'],
    ['an API key with a dot', 'Bearer sk-proj.1'],
    ['a token without claims', 'Bearer header..signature'],
    ['claims that are cut off', bearer('{"exp":18')],
    ['claims in a list', bearer('[1800000000]')],
    ['claims without it', bearer('{}')],
    ['claims with it as a text', bearer('{"exp":"1800000000"}')],
  ])('is unknown: %s', (_, authorization) => {
    expect(credentialsExpiryOf(authorization === undefined ? {} : { authorization }, NOW)).toBeNull();
  });
});
