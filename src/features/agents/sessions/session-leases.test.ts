import { afterEach, describe, expect, it } from 'vitest';

import type { AgentSessionStore } from '../store/port.ts';
import { SessionLeases } from './session-leases.ts';

const opened: SessionLeases[] = [];
afterEach(() => {
  for (const leases of opened.splice(0)) leases.stop();
});

/** The leases of an instance. `renewed` has the sessions of each renewal. */
const openLeases = (onTick: () => Promise<void>) => {
  const renewed: (readonly string[])[] = [];
  const store: Pick<AgentSessionStore, 'renew' | 'leases'> = {
    renew: async (_, ids) => {
      renewed.push(ids);
      return [];
    },
    leases: async () => [],
  };
  const leases = new SessionLeases({
    store: store as AgentSessionStore,
    instance: 'inst_1',
    onLost: () => Promise.resolve(),
    onTick,
    onError: () => undefined,
    everyMs: 5,
  });
  opened.push(leases);
  return { leases, renewed };
};

describe('the leases of an instance', () => {
  it('are renewed while it is busy with other sessions', async () => {
    const { leases, renewed } = openLeases(() => new Promise(() => {}));
    leases.hold('asess_1', () => undefined);
    leases.start();
    await expect.poll(() => renewed.length).toBeGreaterThan(3);
  });

  it('stay with the later turn of a session when the earlier one lets go', async () => {
    const { leases, renewed } = openLeases(() => Promise.resolve());
    const letGo = leases.hold('asess_1', () => undefined);
    const letGoLater = leases.hold('asess_1', () => undefined);
    letGo();
    leases.start();
    await expect.poll(() => renewed[0]).toEqual(['asess_1']);
    letGoLater();
    const before = renewed.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(renewed.length).toBeLessThanOrEqual(before + 1);
  });
});
