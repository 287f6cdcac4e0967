import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../test/support/turn-request.ts';
import { collect } from '../../test/support/turn-events.ts';
import { fail, failure, GatewayError } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { Engine } from './engine.ts';
import { keepSecrets } from './keep-secrets.ts';

const quoting = { message: 'You sent hunter22 to us.', param: 'hunter22' };
const hidden = { message: 'You sent *** to us.', param: '***' };

const engineOf = (run: () => AsyncGenerator<TurnEvent>): Engine =>
  keepSecrets({ unheard: () => ['a'], run }, ['hunter22']);
const { signal } = new AbortController();

describe('keepSecrets', () => {
  it('hides them in the failure of a turn, and leaves the rest alone', async () => {
    const text: TurnEvent = { type: 'item-delta', itemId: 'm', at: 'text', delta: 'hunter22' };
    const engine = engineOf(async function* () {
      yield text;
      const outcome = { kind: 'failed', failure: failure('invalid_prompt', quoting) } as const;
      yield { type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 };
    });
    expect(await collect(engine.run(turnRequest(), signal))).toEqual([
      text,
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('invalid_prompt', hidden) },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
    expect(engine.unheard(turnRequest())).toEqual(['a']);
  });

  it('hides them in what is thrown', async () => {
    const engine = engineOf(async function* () {
      yield* [];
      throw fail('invalid_prompt', quoting);
    });
    await expect(collect(engine.run(turnRequest(), signal))).rejects.toEqual(
      new GatewayError(failure('invalid_prompt', hidden)),
    );
  });
});
