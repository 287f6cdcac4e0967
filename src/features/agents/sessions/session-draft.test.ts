import { describe, expect, it } from 'vitest';

import type { ToolCall } from '../../../canonical/request/item.ts';
import type { AgentSessionRow, SessionChange } from '../store/port.ts';
import type { SessionEvent } from './objects.ts';
import { DEFAULT_AGENT } from './read-agent.ts';
import { EVENTS_TTL_MS, SessionDraft, type DraftRules } from './session-draft.ts';
import { NEW_STATE, type AskedCall } from './session-state.ts';

const NOW = 1_000_000;
const TTL_MS = 10_000_000;

const rulesAt = (now: number): DraftRules => {
  let minted = 0;
  return {
    clock: { now: () => now },
    ids: { mint: (prefix) => `${prefix}_${(minted += 1)}` },
    ttlMs: TTL_MS,
    actionTimeoutMs: 500,
  };
};

/** A session that is changed step by step, as its store would keep it. */
class StoredSession {
  row: AgentSessionRow;
  events: SessionEvent[] = [];
  last: SessionChange | null = null;

  constructor() {
    this.row = {
      id: 'asess_1',
      owner: 'a',
      agentId: 'agent_1',
      workspace: 'demo',
      phase: 'idle',
      rev: 0,
      nextEvent: 1,
      nextItem: 0,
      createdAt: NOW,
      lastActiveAt: NOW,
      queuedAt: null,
      deadlineAt: null,
      metadata: {},
      settings: JSON.stringify({
        agent: { id: 'agent_1', ...DEFAULT_AGENT, model: 'm' },
        environment: { type: 'none' },
        access: null,
      }),
      state: JSON.stringify(NEW_STATE),
    };
  }

  /** Returns the types of the new events. */
  do(draw: (draft: SessionDraft) => void, now = NOW): readonly string[] {
    const draft = new SessionDraft(this.row, rulesAt(now));
    draw(draft);
    const change = draft.change({});
    const events = change.events.map((text) => JSON.parse(text) as SessionEvent);
    this.events = events;
    this.last = change;
    this.row = {
      ...this.row,
      ...change,
      rev: this.row.rev + 1,
      nextEvent: this.row.nextEvent + events.length,
    };
    return events.map(({ type }) => type.replace('agent.session.', ''));
  }

  /** As if an instance had taken it. */
  claim(): readonly string[] {
    this.row = { ...this.row, phase: 'running', queuedAt: null };
    return this.do((draft) => draft.start());
  }
}

const text = (words: string) => [{ type: 'input_text', text: words }] as const;

const asked = (callId: string): AskedCall => {
  const call: ToolCall = { kind: 'tool-call', tool: 'function', callId, name: 'f', input: '{}' };
  return { callId, name: 'f', arguments: {}, call, requestId: null, itemId: callId };
};

const result = (turnId: string, callId: string, more: object = {}) => ({
  turnId,
  callId,
  success: true,
  output: 'yes',
  error: null,
  ...more,
});

const USED = { usage: null, nextIndex: 0, nextItem: 1, ranMs: 5 };

const turnId = ({ row }: StoredSession): string =>
  (JSON.parse(row.state) as { readonly turn: { readonly id: string } }).turn.id;

describe('a session', () => {
  it('keeps a limited length of messages for a turn that runs', () => {
    const session = new StoredSession();
    const long = text('x'.repeat(3 * 1024 * 1024));
    session.do((draft) => void draft.post([long, long]));
    session.claim();
    // A single post may be as long as its body.
    session.do((draft) => void draft.post([long, long]));
    const more = () => session.do((draft) => void draft.post([text('more')]));
    expect(more).toThrow('Too many messages wait');
    session.do((draft) => draft.cancel());
    expect(more).toThrow('Too many messages wait');
  });

  it('waits for each of several calls', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    session.claim();
    expect(
      session.do((draft) => {
        draft.ran(USED);
        draft.wait([asked('one'), asked('two')]);
      }),
    ).toEqual(['turn.item.added', 'turn.item.added', 'requires_action']);
    expect(session.row).toMatchObject({ phase: 'waiting', deadlineAt: NOW + 500 });
    const id = turnId(session);
    expect(session.do((draft) => draft.answer(result(id, 'two')))).toEqual([
      'turn.item.added',
      'turn.item.done',
    ]);
    expect(session.row.phase).toBe('waiting');
    expect(() => session.do((draft) => draft.answer(result(id, 'two')))).toThrow(
      'Unknown pending tool call: two',
    );
    expect(() => session.do((draft) => draft.answer(result('turn_x', 'one')))).toThrow(
      'Unknown pending tool call: one',
    );
    expect(session.do((draft) => draft.answer(result(id, 'one', { success: false, error: 'no' })))).toEqual([
      'turn.item.added',
      'in_progress',
      'turn.item.done',
    ]);
    expect(session.events.at(-1)).toMatchObject({ item: { call_id: 'one', status: 'failed' } });
    // It goes on before turns that came later.
    expect(session.row).toMatchObject({ phase: 'ready', queuedAt: NOW, deadlineAt: null });
  });

  it('passes messages on to the model when that is asked next', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    expect(session.claim()).toEqual(['turn.in_progress', 'turn.item.added']);
    session.do((draft) => {
      draft.ran(USED);
      draft.wait([asked('one')]);
    });
    expect(session.do((draft) => void draft.post([text('b'), text('c')]))).toEqual([]);
    session.do((draft) => draft.answer(result(turnId(session), 'one')));
    expect(session.claim()).toEqual(['turn.item.added', 'turn.item.added']);
  });

  it('begins a turn with messages that came after a cancellation, and keeps those before it', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    session.claim();
    session.do((draft) => void draft.post([text('before')]));
    session.do((draft) => draft.cancel());
    session.do((draft) => void draft.post([text('after')]));
    expect(session.row.phase).toBe('running');
    expect(
      session.do((draft) => {
        draft.ran(USED);
        draft.end({ status: 'cancelled', error: null });
      }),
    ).toEqual(['turn.item.added', 'turn.cancelled', 'idle', 'in_progress', 'turn.created']);
    expect(session.events[0]).toMatchObject({ item: { content: [{ text: 'before' }] } });
    expect(session.claim()).toEqual(['turn.in_progress', 'turn.item.added']);
    expect(session.events[1]).toMatchObject({ item: { content: [{ text: 'after' }] } });
  });

  it('is cancelled, and does not wait, if that was wanted while there was no place', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    session.claim();
    session.do((draft) => draft.cancel());
    expect(session.do((draft) => draft.requeue())).toEqual(['turn.cancelled', 'idle']);
    expect(session.row).toMatchObject({ phase: 'idle', queuedAt: null });
  });

  it('does not run again what a turn began with', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    const error = { code: 'server_error', message: 'no' } as const;
    expect(session.do((draft) => draft.end({ status: 'failed', error }))).toEqual([
      'turn.item.added',
      'turn.failed',
      'idle',
    ]);
    session.do((draft) => void draft.post([text('b')]));
    expect(session.do((draft) => draft.cancel())).toEqual(['turn.cancelled', 'idle']);
    session.do((draft) => void draft.post([text('c')]));
    session.claim();
    session.do((draft) => void draft.post([text('d')]));
    // It came too late for the turn that failed.
    expect(session.do((draft) => draft.end({ status: 'failed', error }))).toEqual([
      'turn.failed',
      'idle',
      'in_progress',
      'turn.created',
    ]);
  });

  it('keeps the events of a turn for ten minutes after its end', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    expect(session.last).toMatchObject({ eventsExpireAt: NOW + TTL_MS, expireEventsAt: null });
    session.claim();
    session.do((draft) => draft.end({ status: 'completed', error: null }), NOW + 7);
    const overAt = NOW + 7 + EVENTS_TTL_MS;
    expect(session.last).toMatchObject({ eventsExpireAt: overAt, expireEventsAt: overAt });
    expect(session.last?.expiresAt).toBe(NOW + 7 + TTL_MS);
  });

  it('limits the messages that wait', () => {
    const session = new StoredSession();
    session.do((draft) => void draft.post([text('a')]));
    session.do((draft) => void draft.post(Array.from({ length: 99 }, () => text('b'))));
    expect(() => session.do((draft) => void draft.post([text('c')]))).toThrow(/Too many messages/);
  });
});
