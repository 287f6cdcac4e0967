import { expect, it } from 'vitest';

import type { AgentSessionRow } from '../store/port.ts';
import { SessionTurns, type SessionTurnsOptions } from './session-turns.ts';

it('a turn that is taken while the server begins to stop waits for the next server', async () => {
  const claimed = Promise.withResolvers<AgentSessionRow | null>();
  const asked = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  const done: string[] = [];
  const draft = { requeue: () => done.push('requeued') };
  const options = {
    instance: 'inst_1',
    maxTurns: 4,
    workspaces: [],
    ambient: { clock: { now: () => 0 } },
    store: {
      queues: async () => [''],
      claim: () => {
        asked.resolve();
        return claimed.promise;
      },
    },
    changes: {
      change: async (_owner: string, _id: string, draw: (...given: unknown[]) => unknown) =>
        draw(draft, { phase: 'running' }),
    },
    runs: { whenFree: () => () => undefined },
    watch: () => ({ on: () => () => done.push('started') }),
    onError: (error: unknown) => errors.push(error),
  };
  const turns = new SessionTurns(options as unknown as SessionTurnsOptions);
  turns.schedule();
  await asked.promise;
  const drained = turns.drain(1_000);
  claimed.resolve({ id: 'asess_1', owner: 'a', workspace: '', phase: 'running' } as AgentSessionRow);
  await drained;
  expect({ done, errors }).toEqual({ done: ['requeued'], errors: [] });
});
