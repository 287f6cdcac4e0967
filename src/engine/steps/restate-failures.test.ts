import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { failure, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { Restate } from '../../canonical/failure/restate.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { restateFailures, type RestateDeps } from './restate-failures.ts';

const { signal } = new AbortController();
const FAILED = failure('context_length_exceeded');
const ended = (failed: Failure): TurnEvent => ({
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failed },
  usage: null,
  at: 1_800_000_000_000,
});
const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], headers: {}, limitsOutput: false };

/** Writes the count into the message. */
const restate: Restate = async (failed, count) => ({ ...failed, message: `${await count()} tokens` });
const DEPS: RestateDeps = {
  restate,
  tokenizer: { countTexts: async (texts) => texts.length },
  clock: { now: () => 0 },
};

const shown = (run: () => AsyncGenerator<TurnEvent>, deps: RestateDeps = DEPS) =>
  collect(throughStep(restateFailures, deps, planOf(run)).run(signal));

describe('restateFailures', () => {
  it('rewrites the failure of a turn that ended or threw', async () => {
    const events = await shown(async function* () {
      yield accepted;
      yield ended(FAILED);
    });
    expect(events).toEqual([accepted, ended({ ...FAILED, message: expect.stringMatching(/^\d+ tokens$/) })]);
    const thrown = shown(async function* () {
      yield* [];
      throw new GatewayError(FAILED);
    });
    await expect(thrown).rejects.toThrow(/^\d+ tokens$/);
  });

  it('rewrites it without a number if the count fails', async () => {
    const tokenizer = {
      countTexts: async () => {
        throw new Error('no thread');
      },
    };
    const events = await shown(
      async function* () {
        yield ended(FAILED);
      },
      { ...DEPS, tokenizer },
    );
    expect(events).toEqual([ended({ ...FAILED, message: 'null tokens' })]);
  });

  it('leaves bugs, and the plans of other APIs, as they are', async () => {
    const bug = new Error('bug');
    const broken = shown(async function* () {
      yield* [];
      throw bug;
    });
    await expect(broken).rejects.toBe(bug);
    const next = () => planOf(async function* () {});
    expect(restateFailures.wrap(next, { ...DEPS, restate: null })).toBe(next);
  });
});
