import { describe, expect, it, vi } from 'vitest';

import type { EventCopy } from '../store/port.ts';
import type { LiveEvents } from './event-log.ts';
import { StreamCopies } from './stream-copies.ts';

const DONE = 'event: done\ndata: [DONE]\n\n';
const LIMITS = { one: 100, running: 300, kept: 500 };

const copiesOf = (write: () => Promise<void> = async () => {}) => {
  const shown = new Map<string, LiveEvents>();
  const written: EventCopy[] = [];
  const writes: number[] = [];
  const dropped: string[] = [];
  const expired: string[] = [];
  const clock = { time: 1_000, now: () => clock.time };
  const copies = new StreamCopies(
    {
      store: {
        async copy(rows) {
          writes.push(rows.length);
          await write();
          written.push(...rows);
        },
        async expire(id) {
          expired.push(id);
        },
      },
      clock,
      show: (id, live) => void shown.set(id, live),
      hide: (id) => void shown.delete(id),
      onDropped: (why) => dropped.push(why),
    },
    LIMITS,
  );
  const send = (id: string, ...texts: readonly string[]): void => {
    const copy = copies.open(id.startsWith('bob') ? 'bob' : 'alice', id);
    for (const text of texts) copy.add(text);
    copy.end();
  };
  return { copies, send, shown, written, writes, dropped, expired, clock };
};

const soon = async (): Promise<void> => {
  await Promise.resolve();
  await Promise.resolve();
};

describe('StreamCopies', () => {
  it('writes a whole stream when it has ended, and shows it until then', async () => {
    const { copies, shown, written, dropped } = copiesOf();
    const copy = copies.open('alice', 'resp_1');
    copy.add('a');
    expect([shown.get('resp_1')?.from(0), written]).toEqual([['a'], []]);
    copy.add(DONE);
    copy.end();
    copy.end();
    expect(shown.get('resp_1')?.from(1)).toEqual([DONE]);
    await soon();
    await soon();
    expect([shown.size, written, dropped]).toEqual([
      0,
      [{ owner: 'alice', responseId: 'resp_1', count: 2, body: `a${DONE}`, expiresAt: 601_000 }],
      [],
    ]);
  });

  it('forgets a stream whose client has left', () => {
    const { send, shown, written, dropped } = copiesOf();
    send('resp_1', 'a', 'b');
    expect([shown.size, written, dropped]).toEqual([0, [], []]);
  });

  it('drops what is too long, alone or together with others', () => {
    const { copies, send, shown, dropped, written } = copiesOf();
    send('resp_1', 'x'.repeat(100), DONE);
    const others = Array.from({ length: 5 }, (_, index) => copies.open('alice', `other_${index}`));
    for (const copy of others) copy.add('x'.repeat(80));
    expect([dropped, shown.size, written]).toEqual([['long', 'memory', 'memory'], 3, []]);
    for (const copy of others) copy.end();
    expect(shown.size).toBe(0);
  });

  it('writes no more than a limit in ten minutes', async () => {
    const { send, dropped, written, clock } = copiesOf();
    const text = 'x'.repeat(100 - DONE.length);
    for (let count = 0; count < 7; count += 1) {
      send(`resp_${count}`, text, DONE);
      await soon();
      await soon();
    }
    expect([written.length, dropped]).toEqual([5, ['disk', 'disk']]);
    clock.time += 600_000;
    send('resp_later', text, DONE);
    await soon();
    expect(written.length).toBe(6);
  });

  it('the key with the most makes room for the stream of another key', () => {
    const { copies, shown, dropped } = copiesOf();
    for (const id of ['a1', 'a2', 'a3']) copies.open('alice', id).add('x'.repeat(90));
    const other = copies.open('bob', 'b1');
    other.add('x'.repeat(90));
    other.add('y');
    expect([dropped, [...shown.keys()], shown.get('b1')?.from(1)]).toEqual([
      ['memory'],
      ['a1', 'a2', 'b1'],
      ['y'],
    ]);
  });

  it('the key with the most loses its oldest copy to another key', async () => {
    const { send, dropped, written, expired } = copiesOf();
    const text = 'x'.repeat(100 - DONE.length);
    for (const id of ['a1', 'a2', 'a3', 'a4', 'a5', 'bob_1', 'a6', 'bob_2']) {
      send(id, text, DONE);
      await soon();
      await soon();
    }
    expect(written.map(({ responseId }) => responseId)).toEqual([
      'a1',
      'a2',
      'a3',
      'a4',
      'a5',
      'bob_1',
      'bob_2',
    ]);
    expect([expired, dropped]).toEqual([
      ['a1', 'a2'],
      ['disk', 'disk', 'disk'],
    ]);
  });

  it('writes those together that end while another is written', async () => {
    const first = Promise.withResolvers<void>();
    const { send, shown, writes, written } = copiesOf(() => first.promise);
    for (let count = 0; count < 4; count += 1) send(`resp_${count}`, DONE);
    expect([writes, shown.size]).toEqual([[1], 4]);
    first.resolve();
    await expect.poll(() => shown.size).toBe(0);
    expect([writes, written.length]).toEqual([[1, 3], 4]);
  });

  it('are closed when those that wait are written', async () => {
    const first = Promise.withResolvers<void>();
    const { copies, send, written, dropped } = copiesOf(() => first.promise);
    for (let count = 0; count < 10; count += 1) send(`resp_${count}`, DONE);
    const closed = copies.close().then(() => written.length);
    first.resolve();
    expect([await closed, dropped]).toEqual([10, []]);
    await copies.close();
  });

  it('are closed although the store does not answer', async () => {
    vi.useFakeTimers();
    try {
      const { copies, send, written } = copiesOf(() => new Promise(() => {}));
      send('resp_1', DONE);
      const closed = copies.close();
      await vi.runAllTimersAsync();
      await closed;
      expect(written).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('reports a store that fails', async () => {
    const { send, dropped, shown } = copiesOf(() => Promise.reject(new Error('full')));
    send('resp_1', DONE);
    await soon();
    await soon();
    expect([dropped, shown.size]).toEqual([['store'], 0]);
  });
});
