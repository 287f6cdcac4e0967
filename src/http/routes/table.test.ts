import { describe, expect, it } from 'vitest';

import { routeTable, readiness } from './table.ts';
import type { BackendHealth } from '../../observe/backend-health.ts';

describe('routeTable', () => {
  it('has no path for metrics that are not served', () => {
    const deps = {
      apis: [],
      turns: { runs: {} },
      models: {},
      codex: {},
      front: {},
      console: null,
      metrics: null,
    } as never;
    expect(routeTable(deps).map(({ path }) => path)).not.toContain('/metrics');
  });
});

describe('readiness', () => {
  const SINCE = Date.UTC(2026, 10, 16);
  const AT = '2026-11-16T00:00:00.000Z';
  const failing: BackendHealth = { state: 'failing', reason: 'blocked', since: SINCE };

  it.each<readonly [string, boolean, BackendHealth, number, unknown]>([
    ['/readyz', true, failing, 200, { status: 'ready' }],
    ['/readyz', false, { state: 'ok', since: SINCE }, 503, { status: 'not ready' }],
    ['/readyz?backend', true, { state: 'unknown' }, 200, { status: 'ready', backend: { state: 'unknown' } }],
    [
      '/readyz?backend',
      true,
      { state: 'ok', since: SINCE },
      200,
      { status: 'ready', backend: { state: 'ok', since: AT } },
    ],
    [
      '/readyz?backend=1',
      true,
      failing,
      503,
      { status: 'not ready', backend: { state: 'failing', reason: 'blocked', since: AT } },
    ],
    [
      '/readyz?backend',
      false,
      { state: 'ok', since: SINCE },
      503,
      { status: 'not ready', backend: { state: 'ok', since: AT } },
    ],
  ])('%s; worker %j; %j', async (path, isReady, health, status, body) => {
    const answer = readiness(new Request(`http://127.0.0.1${path}`), {
      isReady: () => isReady,
      backendHealth: () => health,
    });
    expect([answer.status, await answer.json()]).toEqual([status, body]);
  });
});
