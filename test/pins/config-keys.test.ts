import { expect, it } from 'vitest';

import { SETTINGS, type SettingRow } from '../../src/config/schema.ts';

/** People have these in their environments. A change here is a change of the API: name it in the changelog. */
it('has these settings, each with its default', () => {
  const defaults = Object.entries<SettingRow>(SETTINGS).map(([name, row]) => [name, row.default]);
  expect(Object.fromEntries(defaults)).toEqual({});
});
