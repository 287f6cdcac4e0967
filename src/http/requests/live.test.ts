import { describe, expect, it } from 'vitest';

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Scope } from '../../keys/caller.ts';
import { LiveFeed, MAX_READERS } from '../../requests/live-feed.ts';
import { KEY, route, serveRoutes } from '../../../test/support/serve-routes.ts';
import { liveRequests } from './live.ts';

const open = () => {
  const feed = new LiveFeed({ running: () => [], print: ({ event }) => `event: ${event}\ndata: {}\n\n` });
  const key = { scopes: new Set<Scope>(['read']), failure: null as Error | null };
  const authenticate = () => {
    if (key.failure !== null) throw key.failure;
    return { keyId: 'key_1', scopes: key.scopes };
  };
  const turns = { keepaliveMs: 60_000, onBug() {} };
  const live = route((http, exchange) =>
    liveRequests(http, exchange, { feed, authenticate, turns, checkEveryMs: 2 }),
  );
  const { send } = serveRoutes([{ ...live, scopes: ['read'] }], authenticate);
  return { feed, key, read: () => send('/thing', KEY) };
};

describe('liveRequests', () => {
  it.each([
    [
      'the key is revoked',
      (key: ReturnType<typeof open>['key']) => (key.failure = gatewayError('key_revoked')),
    ],
    ['the key loses its scope', (key: ReturnType<typeof open>['key']) => key.scopes.delete('read')],
  ])('ends when %s', async (_, change) => {
    const { read, key, feed } = open();
    const response = await read();
    change(key);
    expect([await response.text(), feed.readers]).toEqual(['event: snapshot\ndata: {}\n\n', 0]);
  });

  it('goes on while the database of sessions is away', async () => {
    const { read, key, feed } = open();
    const response = await read();
    key.failure = gatewayError('store_unavailable');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(feed.readers).toBe(1);
    feed.close();
    expect(await response.text()).toBe('event: snapshot\ndata: {}\n\n');
  });

  it('limits the number of readers', async () => {
    const { read, feed } = open();
    const readers = await Promise.all(Array.from({ length: MAX_READERS }, () => read()));
    await expect.poll(() => feed.readers).toBe(MAX_READERS);
    const refused = await read();
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: 'server_overloaded' } },
    ]);
    feed.close();
    await Promise.all(readers.map((reader) => reader.text()));
    expect(feed.readers).toBe(0);
  });
});
