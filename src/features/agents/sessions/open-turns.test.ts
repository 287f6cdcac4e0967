import { expect, it } from 'vitest';

import type { AgentSessionRow, SessionPhase } from '../store/port.ts';
import { OpenTurns } from './open-turns.ts';

it('turns that end on another server are counted no longer', async () => {
  const phases = new Map<string, SessionPhase>([
    ['asess_1', 'idle'],
    ['asess_2', 'waiting'],
  ]);
  const counts: Record<string, number> = {};
  const turns = new OpenTurns({
    find: async (owner, id) => {
      const phase = phases.get(id);
      return phase === undefined ? null : ({ id, owner, phase } as AgentSessionRow);
    },
    onCount: (status, count) => (counts[status] = count),
    onError: (error) => expect(error).toBe(null),
  });
  for (const id of ['asess_1', 'asess_2', 'asess_deleted'])
    turns.changed({ id, owner: 'a', phase: 'queued' });
  expect(counts).toEqual({ queued: 3, in_progress: 0, waiting: 0 });
  turns.heard('asess_1');
  turns.heard('asess_unknown');
  await expect.poll(() => counts).toEqual({ queued: 2, in_progress: 0, waiting: 0 });
  turns.heard('*');
  await expect.poll(() => counts).toEqual({ queued: 0, in_progress: 0, waiting: 1 });
});
