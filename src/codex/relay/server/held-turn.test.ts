import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';

import {
  answer,
  bodyOf,
  decided,
  foreign,
  hold,
  metadata,
  NEVER,
  newTurn,
  NOW,
  open,
  placeholder,
  released,
} from '../../../../test/support/held.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { LostReason } from './held-turn.ts';

describe('the model request of a held turn', () => {
  it('waits until it is claimed, and then belongs to that request', async () => {
    const { held, losses } = hold();
    const body = bodyOf(placeholder);
    const admission = held.admit(metadata(), body, NEVER);
    expect(await decided(admission)).toBe('waits');
    held.started('turn-1');
    expect(await decided(admission)).toBe('waits');
    const relayTurn = newTurn();
    held.claim(relayTurn);
    const carried = { tools: [], before: 0, after: [], own: [placeholder] };
    expect(await admission).toEqual({
      relayTurn,
      model: { body, carried },
      added: 0,
      foreignTools: [],
      release: expect.any(Function),
    });
    expect(losses()).toBe(0);
  });

  it('does not wait if it is claimed already', async () => {
    const { held, relayTurn } = open();
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toMatchObject({ relayTurn });
  });

  it.each([
    ['before it is started', false],
    ['before it is claimed', true],
  ])('is rejected if the turn is dropped %s', async (_, isStarted) => {
    const { held } = hold();
    if (isStarted) held.started('turn-1');
    const admission = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    held.drop();
    expect(await admission).toBe('dropped');
    // And so are later ones.
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toBe('dropped');
  });

  it('is rejected after the turn was dropped, even if it was claimed', async () => {
    const { held, relayTurn } = open();
    held.drop();
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toBe('dropped');
    held.claim(relayTurn);
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toBe('dropped');
  });

  it('is rejected if the client has left', async () => {
    const { held, relayTurn } = open();
    relayTurn.cut();
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toBe('dropped');
  });

  it('is given up if the app-server disconnects before the turn is started', async () => {
    const { held } = hold();
    const left = new AbortController();
    const admission = held.admit(metadata(), bodyOf(placeholder), left.signal);
    expect(await decided(admission)).toBe('waits');
    left.abort();
    expect(await admission).toBe('dropped');
  });

  it('is given up if the app-server disconnects, and the turn can still be claimed', async () => {
    const { held } = hold();
    held.started('turn-1');
    const left = new AbortController();
    const admission = held.admit(metadata(), bodyOf(placeholder), left.signal);
    expect(await decided(admission)).toBe('waits');
    left.abort();
    expect(await admission).toBe('dropped');
    const relayTurn = newTurn();
    held.claim(relayTurn);
    expect(await held.admit(metadata(), bodyOf(placeholder), left.signal)).toBe('dropped');
    expect(await held.admit(metadata(), bodyOf(placeholder), NEVER)).toMatchObject({ relayTurn });
  });
});

describe('a model request that is lost', () => {
  it.each<[LostReason, string, IncomingHttpHeaders, JsonObject | null]>([
    ['other-kind', 'a compaction', metadata({ request_kind: 'compaction' }), bodyOf(placeholder)],
    ['other-kind', 'without metadata', {}, bodyOf(placeholder)],
    ['other-turn', 'of an earlier turn', metadata({ turn_id: 'turn-0' }), bodyOf(placeholder)],
    ['other-turn', 'without a turn', metadata({ turn_id: null }), bodyOf(placeholder)],
    ['no-placeholder', 'with another input', metadata(), bodyOf(foreign)],
    ['no-placeholder', 'with the placeholder twice', metadata(), bodyOf(placeholder, placeholder)],
    ['no-placeholder', 'without an input', metadata(), { model: 'gpt-5.5' }],
    ['no-placeholder', 'that cannot be read', metadata(), null],
    ['other-kind', 'a compaction that cannot be read', metadata({ request_kind: 'compaction' }), null],
  ])('is known before the turn is claimed: %s, %s', async (reason, _, headers, body) => {
    const { held } = hold();
    held.started('turn-1');
    expect(await decided(held.admit(headers, body, NEVER))).toEqual({ lost: reason });
  });

  it('is one of codex itself, even before the turn is started', async () => {
    const { held } = hold();
    expect(await decided(held.admit(metadata({ request_kind: 'compaction' }), bodyOf(), NEVER))).toEqual({
      lost: 'other-kind',
    });
  });

  it('may have something foreign after the placeholder', async () => {
    const { held } = open();
    expect(await held.admit(metadata(), bodyOf(placeholder, foreign), NEVER)).toEqual({
      lost: 'foreign-item',
    });
  });

  it.each<[LostReason, number]>([
    ['other-kind', 1],
    ['no-placeholder', 1],
    ['foreign-item', 1],
    ['other-turn', 0],
  ])('ends the turn if that is harmed: %s', (reason, expected) => {
    const { held, losses } = hold();
    held.lost(reason);
    expect(losses()).toBe(expected);
  });

  it('does not end a turn that is over', () => {
    const { held, losses } = hold();
    held.drop();
    held.lost('foreign-item');
    expect(losses()).toBe(0);
  });
});

describe('items that codex added before the placeholder', () => {
  const body = bodyOf({ type: 'additional_tools', tools: [] }, foreign, foreign, placeholder);

  it('are counted once: in the first request of the thread', async () => {
    const { held, relayTurn } = open();
    expect(await held.admit(metadata(), body, NEVER)).toMatchObject({ added: 2 });
    answer(relayTurn);
    relayTurn.begin();
    expect(await held.admit(metadata(), body, NEVER)).toMatchObject({ added: 0 });
  });

  it('are not counted later: they may be earlier turns', async () => {
    const { held } = open({ isFirstOfThread: false });
    expect(await held.admit(metadata(), body, NEVER)).toMatchObject({ added: 0 });
  });
});

describe('a review', () => {
  it('keeps its own input, of any kind and turn', async () => {
    const { held } = hold({ placeholder: null });
    const body = bodyOf(foreign);
    const admission = held.admit({}, body, NEVER);
    expect(await decided(admission)).toBe('waits');
    const relayTurn = newTurn();
    held.claim(relayTurn);
    expect(await admission).toEqual({
      relayTurn,
      model: { body, carried: null },
      added: 0,
      foreignTools: [],
      release: expect.any(Function),
    });
  });
});

describe('a review that cannot be read', () => {
  it('is lost', async () => {
    const { held } = hold({ placeholder: null });
    expect(await decided(held.admit({}, null, NEVER))).toEqual({ lost: 'no-placeholder' });
  });
});

describe('the credentials of a held request', () => {
  it('tell when they expire', async () => {
    const { held } = open();
    expect(held.expiresAtMs).toBeNull();
    const claims = Buffer.from('{"exp":1800000000}').toString('base64url');
    const bearer = { ...metadata(), authorization: `Bearer h.${claims}.s` };
    released(await held.admit(bearer, bodyOf(placeholder), NEVER));
    expect(held.expiresAtMs).toBe(1_800_000_000_000);
    await held.admit({ ...metadata(), authorization: 'AgentAssertion x' }, bodyOf(placeholder), NEVER);
    expect(held.expiresAtMs).toBe(NOW + 90_000);
  });

  it.each<[string, IncomingHttpHeaders, JsonObject | null]>([
    ['another turn', metadata({ turn_id: 'turn-0' }), bodyOf(placeholder)],
    ['another kind', metadata({ request_kind: 'compaction' }), bodyOf(placeholder)],
    ['no placeholder', metadata(), bodyOf(foreign)],
    ['an unreadable one', metadata(), null],
  ])('are not those of a request that is lost: %s', async (_, headers, body) => {
    const { held } = open();
    released(
      await held.admit({ ...metadata(), authorization: 'AgentAssertion x' }, bodyOf(placeholder), NEVER),
    );
    await held.admit({ ...headers, authorization: 'Bearer sk-1' }, body, NEVER);
    expect(held.expiresAtMs).toBe(NOW + 90_000);
  });
});
