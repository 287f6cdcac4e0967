import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect } from '../../../test/support/turn-events.ts';
import {
  failure,
  GatewayError,
  gatewayError,
  type Failure,
  type Restate,
} from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { accessTokenRejected } from '../../codex/failures/access-token.ts';
import type { Plan } from '../engine.ts';
import { restateFailures, hideSecrets, nameAccessToken, type RestateDeps } from './reword-failures.ts';

const { signal } = new AbortController();

const ended = (failed: Failure): TurnEvent => ({
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failed },
  usage: null,
  at: 1_800_000_000_000,
});

describe('restateFailures', () => {
  const FAILED = failure('context_length_exceeded');

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

const quoting = { message: 'You sent hunter22 to us.', param: 'hunter22' };
const hidden = { message: 'You sent *** to us.', param: '***' };

const kept = (run: Plan['run']): Plan =>
  throughStep(hideSecrets, { secrets: ['hunter22'] }, planOf(run, { ignored: ['user'] }));

describe('hideSecrets', () => {
  it('hides them in the failure of a turn, and changes nothing else', async () => {
    const text: TurnEvent = { type: 'item-delta', itemId: 'm', at: 'text', delta: 'hunter22' };
    const plan = kept(async function* () {
      yield text;
      const outcome = { kind: 'failed', failure: failure('invalid_prompt', quoting) } as const;
      yield { type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 };
    });
    expect(await collect(plan.run(signal))).toEqual([
      text,
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('invalid_prompt', hidden) },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
    expect(plan.ignored).toEqual(['user']);
  });

  it('passes on that a turn is settled', async () => {
    let settled = 0;
    const plan = kept(async function* (_signal, onSettled) {
      yield* [];
      onSettled?.();
    });
    await collect(
      plan.run(signal, () => {
        settled += 1;
      }),
    );
    expect(settled).toBe(1);
  });

  it('hides them in what is thrown', async () => {
    const plan = kept(async function* () {
      yield* [];
      throw gatewayError('invalid_prompt', quoting);
    });
    await expect(collect(plan.run(signal))).rejects.toEqual(
      new GatewayError(failure('invalid_prompt', hidden)),
    );
  });
});

describe('name access token', () => {
  const shown = async (failed: Failure, usesAccessToken: boolean): Promise<readonly unknown[]> => {
    const wrap = (run: Parameters<typeof planOf>[0]) =>
      collect(throughStep(nameAccessToken, { usesAccessToken }, planOf(run)).run(signal));
    const events = await wrap(async function* () {
      yield ended(failed);
    });
    const thrown = await wrap(async function* () {
      yield* [];
      throw new GatewayError(failed);
    }).catch((error: unknown) => (error instanceof GatewayError ? ended(error.failure) : error));
    return [...events, thrown];
  };

  const REFUSED: Failure = {
    ...failure('upstream_unauthorized'),
    headers: { 'x-upstream-request-id': 'r1', 'x-should-retry': 'false' },
  };
  const NAMED: Failure = { ...accessTokenRejected(), headers: REFUSED.headers };
  const BROKEN = failure('upstream_error');

  it.each<readonly [string, Failure, boolean, Failure]>([
    ['names a rejected access token', REFUSED, true, NAMED],
    ['does not change another failure', BROKEN, true, BROKEN],
    ['does not change the failure of another login', REFUSED, false, REFUSED],
  ])('%s', async (_, failed, usesAccessToken, expected) => {
    expect(await shown(failed, usesAccessToken)).toEqual([ended(expected), ended(expected)]);
  });
});
