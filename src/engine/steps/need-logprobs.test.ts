import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { collect, emit } from '../../../test/support/turn-events.ts';
import type { Part, Produced } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { requireLogprobs } from './need-logprobs.ts';

const LOGPROBS = [{ token: 'Hi', logprob: -0.1 }];
const ACCEPTED: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
const END: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 0 };
const head: Produced = { kind: 'message', id: 'm', role: 'assistant', parts: [] };
const started: TurnEvent = { type: 'item-started', item: head };
const said = (more: object = {}): TurnEvent => ({
  type: 'item-delta',
  itemId: 'm',
  at: 'text',
  delta: 'Hi',
  ...more,
});
const ended = (...parts: readonly Part[]): TurnEvent => ({ type: 'item-ended', item: { ...head, parts } });

const answer = (delta: TurnEvent, part: Part): TurnEvent[] => [ACCEPTED, started, delta, ended(part), END];
const GIVEN = answer(said({ logprobs: LOGPROBS }), { kind: 'text', text: 'Hi', logprobs: LOGPROBS });
const LATE = answer(said(), { kind: 'text', text: 'Hi', logprobs: LOGPROBS });
const NONE = answer(said(), { kind: 'text', text: 'Hi' });
const REFUSED = answer(said({ at: 'refusal' }), { kind: 'refusal', text: 'Hi' });
const MISSING = { failure: { kind: 'unsupported_parameter', status: 400, param: 'logprobs' } };

/** The events one by one, and how many of them were taken when the first was given. */
const first = async (events: readonly TurnEvent[], withinMs: number | null) => {
  let taken = 0;
  const source = async function* () {
    for (const event of events) {
      taken += 1;
      yield event;
    }
  };
  const iterator = requireLogprobs(source(), withinMs);
  const step = await iterator.next();
  await iterator.return(undefined);
  return { step, taken };
};

describe('log probabilities that a client needs', () => {
  it.each([
    ['given', GIVEN],
    ['not to be given, because there is no text', REFUSED],
    ['not to be given, because there is nothing', [ACCEPTED, END]],
  ])('pass: %s', async (_, events) => {
    expect(await collect(requireLogprobs(emit(events), 1_000))).toEqual(events);
    expect(await collect(requireLogprobs(emit(events), null))).toEqual(events);
  });

  it('fail the turn before anything is sent if they are missing', async () => {
    await expect(first(NONE, 1_000)).rejects.toMatchObject(MISSING);
    await expect(first(NONE, null)).rejects.toMatchObject(MISSING);
  });

  it('may come with the whole text if the answer is sent whole', async () => {
    expect(await collect(requireLogprobs(emit(LATE), null))).toEqual(LATE);
    await expect(first(LATE, 1_000)).rejects.toMatchObject(MISSING);
  });

  it('hold a stream back only until its first text', async () => {
    expect(await first(GIVEN, 1_000)).toMatchObject({ step: { value: ACCEPTED }, taken: 3 });
  });

  it('are not awaited longer than the keepalive interval', async () => {
    const slow = async function* () {
      yield ACCEPTED;
      await sleep(100);
      yield* NONE.slice(1);
    };
    expect(await collect(requireLogprobs(slow(), 10))).toEqual(NONE);
  });
});
