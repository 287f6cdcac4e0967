import { describe, expect, it } from 'vitest';

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Scope } from '../../http/guards/scopes.ts';
import { KEY, route, serveRoutes } from '../../../test/support/serve-routes.ts';
import { createReaderPlaces, LiveFeed, liveRequests } from './live-feed.ts';

const MAX_READERS = 64;

const open = () => {
  const feed = new LiveFeed({ running: () => [], print: ({ event }) => `event: ${event}\ndata: {}\n\n` });
  const key = { scopes: new Set<Scope>(['read']), failure: null as Error | null };
  const authenticate = ({ headers }: { readonly headers: Headers }) => {
    if (key.failure !== null) throw key.failure;
    return { keyId: headers.get('x-reader') ?? 'admin', scopes: key.scopes };
  };
  const readers = createReaderPlaces({ clock: { now: () => 0 }, isAdmin: (keyId) => keyId === 'admin' });
  const turns = { keepaliveMs: 60_000, onBug() {} };
  const live = route((http, exchange) =>
    liveRequests(http, exchange, { feed, authenticate, readers, turns, checkEveryMs: 2 }),
  );
  const { send } = serveRoutes([{ ...live, scopes: ['read'] }], authenticate);
  return {
    feed,
    key,
    read: (reader = 'admin') => send('/thing', { headers: { ...KEY.headers, 'x-reader': reader } }),
  };
};

describe('liveRequests', () => {
  it.each([
    [
      'the key is revoked',
      (key: ReturnType<typeof open>['key']) => (key.failure = gatewayError('invalid_api_key')),
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

  it('limits the number of readers; a key alone has all places but that of an administrator', async () => {
    const { read, feed } = open();
    const readers = await Promise.all(Array.from({ length: MAX_READERS - 1 }, () => read('eve')));
    await expect.poll(() => feed.readers).toBe(MAX_READERS - 1);
    const refused = await read('eve');
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: 'server_overloaded' } },
    ]);
    readers.push(await read());
    await expect.poll(() => feed.readers).toBe(MAX_READERS);
    feed.close();
    await Promise.all(readers.map((reader) => reader.text()));
    expect(feed.readers).toBe(0);
  });

  it('ends the oldest reader of the key with the most for one of another key', async () => {
    const { read, feed } = open();
    const [oldest, ...others] = await Promise.all(Array.from({ length: MAX_READERS - 1 }, () => read('eve')));
    await expect.poll(() => feed.readers).toBe(MAX_READERS - 1);
    const other = await read('bob');
    expect([other.status, await oldest?.text(), (await read('eve')).status]).toEqual([
      200,
      'event: snapshot\ndata: {}\n\n',
      503,
    ]);
    feed.close();
    await Promise.all([other, ...others].map((reader) => reader.text()));
  });
});
