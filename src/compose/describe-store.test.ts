import { expect, it } from 'vitest';

import { loadConfig } from './feature-tables.ts';
import { describeStore } from './describe-store.ts';

const described = (environment: Record<string, string>): string =>
  describeStore(loadConfig({ PROXY_STATE_DIR: '/state', ...environment }).state);

it.each([
  [{}, '/state/state.db, kept for 30 days'],
  [{ PROXY_STORE_TTL_DAYS: '1' }, '/state/state.db, kept for 1 day'],
  [{ PROXY_STORE_KEY: 'ab'.repeat(32) }, '/state/state.db, kept for 30 days, encrypted'],
  [
    { PROXY_DATABASE_URL: 'postgres://user:secret@db.local:5432/proxy' },
    'PostgreSQL at db.local:5432/proxy, kept for 30 days',
  ],
  [{ PROXY_STORE: 'off' }, 'off: nothing is kept between requests (PROXY_STORE=off)'],
])('describes the store of %j', (environment, text) => {
  expect(described(environment)).toBe(text);
});
