import { describe, expect, it } from 'vitest';

import type { EventBatch } from '../store/store.ts';
import type { LiveEvents } from './event-log.ts';
import { StreamCopies } from './stream-copies.ts';

const DONE = 'event: done\ndata: [DONE]\n\n';
const LIMITS = { one: 100, running: 300, kept: 500 };

const copiesOf = (append: () => Promise<void> = async () => {}) => {
  const shown = new Map<string, LiveEvents>();
  const written: (EventBatch & { readonly id: string; readonly expiresAt: number })[] = [];
  const dropped: string[] = [];
  const clock = { time: 1_000, now: () => clock.time };
  const copies = new StreamCopies(
    {
      store: {
        async append(_owner, id, batch, expiresAt) {
          await append();
          written.push({ id, ...batch, expiresAt });
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
    const copy = copies.open('alice', id);
    for (const text of texts) copy.add(text);
    copy.end();
  };
  return { copies, send, shown, written, dropped, clock };
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
      [{ id: 'resp_1', first: 0, last: 1, body: `a${DONE}`, expiresAt: 601_000 }],
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

  it('reports a store that fails', async () => {
    const { send, dropped, shown } = copiesOf(() => Promise.reject(new Error('full')));
    send('resp_1', DONE);
    await soon();
    await soon();
    expect([dropped, shown.size]).toEqual([['store'], 0]);
  });
});
