import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';

import { everything, SHAPE } from '../../../../test/support/edited.ts';
import { turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { carriedInput } from '../request/carried-input.ts';
import { HeldTurn, type Admission, type ExpectedTurn, type LostReason } from './held-turn.ts';
import { RelayTurn } from './relay-turn.ts';

const placeholder = { type: 'message', id: 'px_1' };
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' };
const foreign = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] };

const metadata = (more: JsonObject = {}): IncomingHttpHeaders => ({
  'x-codex-turn-metadata': JSON.stringify({ request_kind: 'turn', turn_id: 'turn-1', ...more }),
});
const bodyOf = (...input: readonly JsonObject[]): JsonObject => ({ model: 'gpt-5.5', input });
const NOW = Date.UTC(2026, 10, 5);
const NEVER = new AbortController().signal;

const hold = (expected: Partial<ExpectedTurn> = {}) => {
  let losses = 0;
  const expectedTurn = {
    threadId: 'thread-1',
    slug: 'gpt-5.5',
    placeholder: 'px_1',
    isFirstOfThread: true,
    onLost() {
      losses += 1;
    },
    ...expected,
  };
  const held = new HeldTurn(expectedTurn, { now: () => NOW });
  return { held, losses: () => losses };
};

const newTurn = (): RelayTurn =>
  new RelayTurn({
    request: turnRequest(),
    context: turnContext(),
    shape: SHAPE,
    thread: { threadId: 'thread-1', turnId: 'turn-1', slug: 'gpt-5.5' },
    affinity: { cacheKey: 'cache-key', session: 'session-1' },
    limits: everything,
    turnId: 'turn-of-backend',
    startedAtMs: 1_000,
    signIn: () => null,
    onUpstreamEvent() {},
    onActivity() {},
  });

/** A turn that was started and claimed. */
const open = (expected: Partial<ExpectedTurn> = {}) => {
  const { held } = hold(expected);
  const relayTurn = newTurn();
  held.started('turn-1');
  held.claim(relayTurn);
  return { held, relayTurn };
};

/** The admission as far as it is decided, after everything that does not wait for us. */
const decided = async (admission: Promise<Admission>): Promise<Admission | 'waits'> => {
  const waits = new Promise<'waits'>((resolve) => {
    setImmediate(() => resolve('waits'));
  });
  return Promise.race([admission, waits]);
};

const answer = (relayTurn: RelayTurn, ...items: readonly JsonObject[]): void => {
  relayTurn.onUpstreamEvent({ kind: 'answer-started' });
  for (const item of items) {
    relayTurn.onUpstreamEvent({
      kind: 'answer-said',
      type: 'response.output_item.done',
      data: { item },
    });
  }
  relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'completed', response: null });
};

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
    expect(await admission).toEqual({ relayTurn, model: { body, carried }, added: 0 });
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
    expect(await decided(admission)).not.toBe('waits');
    expect(await admission).not.toHaveProperty('relayTurn');
    // And so are later ones.
    expect(await decided(held.admit(metadata(), bodyOf(placeholder), NEVER))).not.toHaveProperty('relayTurn');
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
  it.each<[LostReason, string, IncomingHttpHeaders, JsonObject]>([
    ['other-kind', 'a compaction', metadata({ request_kind: 'compaction' }), bodyOf(placeholder)],
    ['other-kind', 'without metadata', {}, bodyOf(placeholder)],
    ['other-turn', 'of an earlier turn', metadata({ turn_id: 'turn-0' }), bodyOf(placeholder)],
    ['other-turn', 'without a turn', metadata({ turn_id: null }), bodyOf(placeholder)],
    ['no-placeholder', 'with another input', metadata(), bodyOf(foreign)],
    ['no-placeholder', 'with the placeholder twice', metadata(), bodyOf(placeholder, placeholder)],
    ['no-placeholder', 'without an input', metadata(), { model: 'gpt-5.5' }],
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

describe('a later model request of the turn', () => {
  it('may have its answers, outputs and steered texts after the placeholder', async () => {
    const { held, relayTurn } = open();
    answer(relayTurn, call);
    relayTurn.begin();
    relayTurn.own.steered(['Go on.']);
    const steered = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] };
    const body = bodyOf(placeholder, call, output, steered);
    expect(await held.admit(metadata(), body, NEVER)).toEqual({
      relayTurn,
      model: { body, carried: carriedInput([placeholder, call, output, steered], 'px_1') },
      added: 0,
    });
    expect(await held.admit(metadata(), bodyOf(placeholder, call, output, foreign), NEVER)).toEqual({
      lost: 'foreign-item',
    });
  });

  it('waits until the answer before it has a reader and is complete', async () => {
    const { held, relayTurn } = open();
    relayTurn.onUpstreamEvent({ kind: 'answer-started' });
    const admission = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    relayTurn.begin();
    expect(await decided(admission)).toBe('waits');
    relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'left' });
    expect(await admission).toMatchObject({ relayTurn });
  });

  it('waits until the one before it has failed', async () => {
    const { held, relayTurn } = open();
    const first = Promise.withResolvers<void>();
    const sent = relayTurn.send(() => first.promise);
    const admission = held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    first.reject(new Error('broken'));
    await expect(sent).rejects.toThrow('broken');
    expect(await admission).toMatchObject({ relayTurn });
  });

  it.each([
    ['dropped', ({ held }: ReturnType<typeof open>) => held.drop()],
    ['cut', ({ relayTurn }: ReturnType<typeof open>) => relayTurn.cut()],
  ])('is rejected if the turn is %s while it waits', async (_, end) => {
    const one = open();
    one.relayTurn.onUpstreamEvent({ kind: 'answer-started' });
    const admission = one.held.admit(metadata(), bodyOf(placeholder), NEVER);
    expect(await decided(admission)).toBe('waits');
    end(one);
    one.relayTurn.begin();
    one.relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'left' });
    expect(await admission).toBe('dropped');
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
    expect(await admission).toEqual({ relayTurn, model: { body, carried: null }, added: 0 });
  });
});

describe('the credentials of a held request', () => {
  it('tell when they expire', async () => {
    const { held } = open();
    expect(held.expiresAtMs).toBeNull();
    const claims = Buffer.from('{"exp":1800000000}').toString('base64url');
    await held.admit({ ...metadata(), authorization: `Bearer h.${claims}.s` }, bodyOf(placeholder), NEVER);
    expect(held.expiresAtMs).toBe(1_800_000_000_000);
    await held.admit({ ...metadata(), authorization: 'AgentAssertion x' }, bodyOf(placeholder), NEVER);
    expect(held.expiresAtMs).toBe(NOW + 90_000);
  });
});
