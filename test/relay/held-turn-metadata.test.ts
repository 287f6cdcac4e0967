import { describe, expect, it } from 'vitest';

import { UUID_V7, uuidV7 } from '../../src/codex/relay/request/affinity.ts';
import { cacheIds } from '../support/cache-ids.ts';
import { CHATGPT } from '../support/edited.ts';
import { completed, freshRelays, parsed, TURN_ID, type ConnectionInfo } from './backend.ts';

const start = freshRelays();

const STARTED_MS = Date.UTC(2026, 10, 5, 12, 0);
const CLAIMED_MS = STARTED_MS + 4 * 60_000;
const HEADER = 'x-codex-turn-metadata';
const WINDOW_OF_CODEX = uuidV7(STARTED_MS);

/** As codex writes it when the turn is started, long before it is claimed. */
const metadata = JSON.stringify({
  request_kind: 'turn',
  session_id: 't1',
  thread_id: 't1',
  turn_id: TURN_ID,
  root_turn_id: TURN_ID,
  context_window_id: WINDOW_OF_CODEX,
  turn_started_at_unix_ms: STARTED_MS,
  model: 'gpt-5.5',
  reasoning_effort: 'medium',
  sandbox: 'none',
});

type Notes = Record<string, string | number>;
const inHeader = ({ headers }: ConnectionInfo): Notes => JSON.parse(String(headers[HEADER])) as Notes;
const inBody = (arrival: ConnectionInfo): Notes => {
  const { client_metadata: told } = parsed(arrival) as { client_metadata: Record<string, string> };
  return JSON.parse(told[HEADER] ?? 'null') as Notes;
};

describe('the metadata of a turn that was started long before', () => {
  const sessions = new Map(['one', 'other'].map((key) => [key, uuidV7(CLAIMED_MS - 1000)]));

  it('is that of the claim, with the window of the conversation', async () => {
    let nowMs = STARTED_MS;
    const { backend, hold, post } = await start(completed, {
      clock: { now: () => nowMs },
      affinity: { cacheIds, cacheKeys: 'uuid' },
      // Others do not get `client_metadata`.
      profile: CHATGPT,
    });
    const claims = [
      ['one', 'high'],
      ['one', null],
      ['other', null],
    ] as const;
    for (const [conversation, effort] of claims) {
      const { held, claim } = hold('t1');
      held.started(TURN_ID);
      nowMs += 4 * 60_000;
      const reasoning = { effort, summary: null, context: null };
      const { relayTurn } = claim(
        { model: 'gpt-6', reasoning },
        true,
        { conversation },
        {},
        sessions.get(conversation),
      );
      const client_metadata = { [HEADER]: metadata, turn_id: TURN_ID, 'x-odd': 'kept' };
      const response = await post('t1', { client_metadata }, { headers: { [HEADER]: metadata } });
      expect(response.status).toBe(200);
      await response.text();
      relayTurn.close();
    }
    const told = backend.arrivals.map(inHeader);
    expect(backend.arrivals.map(inBody)).toEqual(told);
    const turnIds = told.map(({ turn_id: id }) => String(id));
    const windows = told.map(({ context_window_id: id }) => String(id));
    expect(told).toEqual(
      claims.map(([conversation, effort], index) => ({
        request_kind: 'turn',
        session_id: sessions.get(conversation),
        thread_id: sessions.get(conversation),
        turn_id: turnIds[index],
        root_turn_id: turnIds[index],
        context_window_id: windows[index],
        turn_started_at_unix_ms: CLAIMED_MS + index * 4 * 60_000,
        model: 'gpt-6',
        reasoning_effort: effort ?? 'medium',
        sandbox: 'none',
      })),
    );
    expect(backend.arrivals.map((arrival) => parsed(arrival)['client_metadata'])).toEqual(
      turnIds.map((turnId, index) => ({
        [HEADER]: backend.arrivals[index]?.headers[HEADER],
        turn_id: turnId,
        'x-odd': 'kept',
      })),
    );
    // Each turn has an id of its own time, and a conversation has one window.
    for (const [index, id] of turnIds.entries()) {
      expect(id).toMatch(UUID_V7);
      expect(id.slice(0, 13)).toBe(uuidV7(CLAIMED_MS + index * 4 * 60_000).slice(0, 13));
    }
    expect(new Set(turnIds).size).toBe(3);
    for (const id of windows) expect(id).toMatch(UUID_V7);
    expect(windows[1]).toBe(windows[0]);
    expect(new Set([...windows, ...sessions.values(), WINDOW_OF_CODEX]).size).toBe(5);
  });

  it('stays ASCII, as codex writes it', async () => {
    const { backend, open, post } = await start(completed);
    open('t1');
    const path = String.raw`/home/\u4e2d\u00e9`;
    const told = `{"request_kind":"turn","turn_id":"${TURN_ID}","workspaces":{"${path}":{}}}`;
    expect((await post('t1', {}, { headers: { [HEADER]: told } })).status).toBe(200);
    expect(backend.arrivals.map(({ headers }) => String(headers[HEADER]).split('"workspaces":')[1])).toEqual([
      `{"${path}":{}}}`,
    ]);
  });

  it('does not change within the turn', async () => {
    let nowMs = STARTED_MS;
    const { backend, open, post } = await start(completed, { clock: { now: () => nowMs } });
    open('t1');
    for (let nth = 0; nth < 2; nth += 1) {
      nowMs += 60_000;
      await (await post('t1', {}, { headers: { [HEADER]: metadata } })).text();
    }
    const [first, second] = backend.arrivals.map(inHeader);
    expect(first).toMatchObject({ turn_started_at_unix_ms: STARTED_MS, model: 'gpt-5.5' });
    expect(second).toEqual(first);
  });
});
