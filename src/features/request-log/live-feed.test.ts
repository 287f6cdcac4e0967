import { describe, expect, it, vi } from 'vitest';

import { LiveFeed, type FeedMessage, type WatchedRequest } from './live-feed.ts';
import type { RequestRecord } from './record.ts';

const watched = (id: string): WatchedRequest & { state: string } => {
  const request = {
    state: 'new',
    record: () => ({ id, outcome: request.state }) as unknown as RequestRecord,
  };
  return request;
};

const print = (message: FeedMessage): string => {
  if (message.event === 'dropped') return `dropped ${message.count}\n`;
  if (message.event === 'snapshot')
    return `snapshot ${message.requests.map(({ id }) => id).join(' ')} +${message.leftOut}\n`;
  return `${message.event} ${message.request.id} ${message.request.outcome ?? ''}\n`;
};

const open = (running: readonly WatchedRequest[] = []) => {
  const feed = new LiveFeed({ running: () => running, print, collectMs: 0 });
  const gone = new AbortController();
  return { feed, gone, texts: feed.read(gone.signal) };
};

const next = async (texts: AsyncGenerator<string>): Promise<string> => {
  const { value, done } = await texts.next();
  return done === true ? 'end' : value;
};

describe('LiveFeed', () => {
  it('begins with what runs, the newest first', async () => {
    const { texts, feed } = open(['a', 'b'].map(watched));
    expect(await next(texts)).toBe('snapshot b a +0\n');
    feed.close();
    expect(await next(texts)).toBe('end');
  });

  it('limits the first message', async () => {
    const { texts } = open(Array.from({ length: 502 }, (_, nth) => watched(String(nth))));
    expect(await next(texts)).toMatch(/^snapshot 501 500 .* 2 \+2\n$/);
  });

  it('joins the changes of a request, with its newest state', async () => {
    const { texts, feed } = open();
    await next(texts);
    const [a, b, c] = [watched('a'), watched('b'), watched('c')];
    feed.changed(a, 'request.started');
    feed.changed(a, 'request.changed');
    feed.changed(b, 'request.changed');
    feed.changed(b, 'request.ended');
    feed.changed(c, 'request.started');
    feed.changed(c, 'request.ended');
    a.state = 'newest';
    expect(await next(texts)).toBe('request.started a newest\nrequest.ended b new\nrequest.ended c new\n');
  });

  it('prints a message once for all readers, and nothing without one', async () => {
    const printed = vi.fn<typeof print>(print);
    const feed = new LiveFeed({ running: () => [], print: printed, collectMs: 0 });
    feed.changed(watched('unseen'), 'request.started');
    const signal = new AbortController().signal;
    const readers = [feed.read(signal), feed.read(signal)];
    for (const reader of readers) expect(await next(reader)).toBe('snapshot  +0\n');
    expect(feed.readers).toBe(2);
    printed.mockClear();
    feed.changed(watched('a'), 'request.started');
    for (const reader of readers) expect(await next(reader)).toBe('request.started a new\n');
    expect(printed).toHaveBeenCalledOnce();
  });

  it('tells a slow reader what it missed, and starts again with what runs', async () => {
    const running = [watched('now')];
    const { texts, feed } = open(running);
    await next(texts);
    const flush = async (): Promise<void> => {
      for (let nth = 0; nth < 1_500; nth += 1) feed.changed(watched(`x${nth}`), 'request.ended');
      await expect.poll(() => feed.readers).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await flush();
    await flush();
    feed.changed(watched('last'), 'request.ended');
    expect(await next(texts)).toBe('dropped 3000\nsnapshot now +0\n');
    expect(await next(texts)).toBe('request.ended last new\n');
  });

  it('ends when the reader leaves, and does not begin for one that has left or after the end', async () => {
    const { texts, feed, gone } = open();
    await next(texts);
    const waiting = next(texts);
    gone.abort();
    expect([await waiting, feed.readers]).toEqual(['end', 0]);
    expect(await next(feed.read(gone.signal))).toBe('end');
    feed.close();
    expect(await next(feed.read(new AbortController().signal))).toBe('end');
  });
});
