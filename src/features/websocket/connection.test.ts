import { describe, expect, it } from 'vitest';

import { CLOSE, closeReason, Liveness, type Signs } from './connection.ts';

const TIMES = { maxAgeMs: 1e9, idleMs: 1_000, pingMs: 100, uploadIdleMs: 300 };
const look = (liveness: Liveness, now: number, signs: Partial<Signs> = {}): string =>
  liveness.look({ now, lastDataAt: now, isArriving: false, isBehind: false, idleSince: null, ...signs });

describe('Liveness', () => {
  it('pings at its interval', () => {
    const liveness = new Liveness(TIMES, 0);
    expect([50, 99, 100, 150, 200].map((now) => look(liveness, now))).toEqual([
      'fine',
      'fine',
      'ping',
      'fine',
      'ping',
    ]);
  });

  it('reports a client that has sent nothing since its last ping', () => {
    const liveness = new Liveness(TIMES, 0);
    expect([
      look(liveness, 100, { lastDataAt: 0 }),
      look(liveness, 199, { lastDataAt: 0 }),
      look(liveness, 200, { lastDataAt: 99 }),
    ]).toEqual(['ping', 'fine', 'dead']);
  });

  it('does not expect an answer of a client that is behind with reading', () => {
    const liveness = new Liveness(TIMES, 0);
    const behind = { lastDataAt: 0, isBehind: true };
    expect([
      look(liveness, 100, behind),
      look(liveness, 200, behind),
      look(liveness, 300, { lastDataAt: 0 }),
      look(liveness, 400, behind),
      look(liveness, 500, { lastDataAt: 0 }),
      look(liveness, 600, { lastDataAt: 0 }),
    ]).toEqual(['fine', 'fine', 'ping', 'fine', 'ping', 'dead']);
  });

  it('reports a message that does not arrive to its end, and an idle connection', () => {
    const liveness = new Liveness(TIMES, 0);
    expect([
      look(liveness, 299, { lastDataAt: 0, isArriving: true, isBehind: true }),
      look(liveness, 300, { lastDataAt: 0, isArriving: true, isBehind: true }),
      look(liveness, 999, { idleSince: 0, isBehind: true }),
      look(liveness, 1_000, { idleSince: 0 }),
    ]).toEqual(['fine', 'stuck', 'fine', 'idle']);
  });
});

describe('closeReason', () => {
  it('fits into a close frame, with whole characters', () => {
    expect(closeReason('short')).toBe('short');
    expect(closeReason('é'.repeat(100))).toBe('é'.repeat(61));
    expect(CLOSE.normal).toBe(1000);
  });
});
