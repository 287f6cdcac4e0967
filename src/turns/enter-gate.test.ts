import { expect, it } from 'vitest';

import { noState } from '../../test/support/turn-state.ts';
import type { Turn } from '../canonical/context/turn-context.ts';
import { NO_TRACE } from '../canonical/context/trace.ts';
import type { ParsedRequest } from './api.ts';
import { enterGate } from './enter-gate.ts';
import { Owned } from './owned.ts';
import type { RunCall } from './run-deps.ts';
import { FREE_PASS, OPEN_GATE, type GatePass } from './turn-gate.ts';

const entered = (entering: Promise<GatePass>) => {
  const owned = new Owned();
  const pass = enterGate(
    [{ request: {} }] as unknown as readonly [Turn],
    { choices: 1 } as ParsedRequest,
    { caller: 'key', held: { bytes: 1 }, state: noState, trace: NO_TRACE } as unknown as RunCall,
    {
      deps: { gate: { ...OPEN_GATE, enter: () => entering } },
      owned,
      signal: new AbortController().signal,
      asked: () => 0,
    },
  );
  return { owned, pass };
};

it('leaves when the run ends, even if it ends before the reservation is made', async () => {
  let left = 0;
  const { promise, resolve } = Promise.withResolvers<GatePass>();
  const { owned, pass } = entered(promise);
  owned.release();
  expect(left).toBe(0);
  resolve({ ...FREE_PASS, leave: () => void (left += 1) });
  await pass;
  await expect.poll(() => left).toBe(1);
});

it('may be refused before it is awaited', async () => {
  const { owned, pass } = entered(Promise.reject(new Error('no')));
  // Time for Node to complain about a rejection that is not handled.
  await new Promise((resolve) => setImmediate(resolve));
  owned.release();
  await expect(pass).rejects.toThrow('no');
});
