import { expect, it } from 'vitest';

import { routeTable } from './table.ts';

it('has no path for metrics that are not served', () => {
  const deps = {
    apis: [],
    turns: {},
    models: {},
    codex: {},
    front: {},
    console: null,
    metrics: null,
  } as never;
  expect(routeTable(deps).map(({ path }) => path)).not.toContain('/metrics');
});
