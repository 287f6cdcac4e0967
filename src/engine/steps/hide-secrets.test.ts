import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Plan } from '../engine.ts';
import { hideSecrets } from './hide-secrets.ts';

const quoting = { message: 'You sent hunter22 to us.', param: 'hunter22' };
const hidden = { message: 'You sent *** to us.', param: '***' };

const kept = (run: Plan['run']): Plan =>
  throughStep(hideSecrets, { secrets: ['hunter22'] }, planOf(run, { ignored: ['user'] }));
const { signal } = new AbortController();

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
