import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { turnsWhileReading } from '../../../test/support/turns-of-loop.ts';
import { charsIn } from '../../kit/json/json.ts';
import { collect, turnEvents } from '../../../test/support/turn-events.ts';
import { COALESCE_ABOVE, EVENT_BYTES, Mailbox } from './mailbox.ts';

const text = (itemId: string, delta: string): TurnEvent => ({
  type: 'item-delta',
  itemId: itemId,
  at: 'text',
  delta: delta,
});
const summary = (itemId: string, index: number, delta: string): TurnEvent => ({
  type: 'item-delta',
  itemId: itemId,
  at: { list: 'summary', index: index },
  delta: delta,
});
const started = (itemId: string): TurnEvent => ({
  type: 'item-started',
  item: { kind: 'message', id: itemId, role: 'assistant', parts: [] },
});

/** Deltas of one text, and of nothing else, that stand side by side are one delta. */
const joined = (events: readonly TurnEvent[]): TurnEvent[] => {
  const all: TurnEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const isSame =
      last !== undefined &&
      'delta' in event &&
      'delta' in last &&
      !('logprobs' in event || 'annotation' in event) &&
      JSON.stringify({ ...event, delta: '' }) === JSON.stringify({ ...last, delta: '' });
    if (isSame) all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    else all.push(event);
  }
  return all;
};

/** So many unread events that deltas are joined from here on. */
const PILED = started('pile');
const PILE = Array.from({ length: COALESCE_ABOVE }, () => PILED);

describe('Mailbox', () => {
  it('yields events in order, and ends when it is closed', async () => {
    const mailbox = new Mailbox();
    mailbox.push([started('m'), text('m', 'a')]);
    mailbox.push([text('m', 'b')]);
    mailbox.close();
    expect(await collect(mailbox)).toEqual([started('m'), text('m', 'a'), text('m', 'b')]);
  });

  it('wakes a reader that waits', async () => {
    const mailbox = new Mailbox();
    const reader = mailbox[Symbol.asyncIterator]();
    const first = reader.next();
    mailbox.push([text('m', 'a')]);
    expect(await first).toEqual({ done: false, value: text('m', 'a') });
    const second = reader.next();
    mailbox.close();
    expect(await second).toEqual({ done: true, value: undefined });
  });

  it('yields to other requests while a long one is read', async () => {
    const mailbox = new Mailbox();
    mailbox.push(Array.from({ length: 2_000 }, () => started('m')));
    mailbox.close();
    expect(await turnsWhileReading(mailbox)).toBeGreaterThan(10);
  });

  it('joins nothing while the reader keeps up', async () => {
    const mailbox = new Mailbox();
    const few = Array.from({ length: COALESCE_ABOVE }, (_, index) => text('m', String(index)));
    mailbox.push(few);
    mailbox.close();
    expect(await collect(mailbox)).toEqual(few);
  });

  it('joins deltas of the same text when many are unread, and no others', async () => {
    const mailbox = new Mailbox();
    mailbox.push(PILE);
    mailbox.push([text('m', 'a'), text('m', 'b'), text('n', 'c'), text('n', 'd'), text('m', 'e')]);
    mailbox.push([
      summary('r', 0, 'f'),
      summary('r', 0, 'g'),
      summary('r', 1, 'h'),
      started('x'),
      text('x', 'i'),
    ]);
    mailbox.close();
    expect((await collect(mailbox)).slice(PILE.length)).toEqual([
      text('m', 'ab'),
      text('n', 'cd'),
      text('m', 'e'),
      summary('r', 0, 'fg'),
      summary('r', 1, 'h'),
      started('x'),
      text('x', 'i'),
    ]);
  });

  it('never changes a delta that was read', async () => {
    const mailbox = new Mailbox();
    mailbox.push(Array.from({ length: COALESCE_ABOVE + 100 }, () => text('m', 'a')));
    const read: TurnEvent[] = [];
    for await (const event of mailbox) {
      read.push(event);
      if (read.length === 10) mailbox.push([text('m', 'b')]);
      if (read.length === COALESCE_ABOVE) mailbox.close();
    }
    expect(joined(read)).toEqual([text('m', `${'a'.repeat(COALESCE_ABOVE + 100)}b`)]);
  });

  it('drops what is unread when its reader is given up, and throws the error', async () => {
    let unread = 0;
    const mailbox = new Mailbox({ add: (bytes) => (unread += bytes) });
    mailbox.push([started('m'), text('m', 'abc')]);
    const reader = mailbox[Symbol.asyncIterator]();
    await reader.next();
    expect(unread).toBe(EVENT_BYTES + 3);
    mailbox.giveUp(new Error('too slow'));
    mailbox.push([text('m', 'd')]);
    expect(unread).toBe(0);
    await expect(reader.next()).rejects.toThrow('too slow');
    expect(unread).toBe(0);
  });

  it('keeps nothing that is pushed while its reader is given up', async () => {
    let unread = 0;
    const mailbox: Mailbox = new Mailbox({
      add(bytes) {
        if (bytes > 100_000) mailbox.giveUp(new Error('too slow'));
        unread += bytes;
      },
    });
    mailbox.push([text('m', 'a')]);
    mailbox.push([text('m', 'x'.repeat(200_000))]);
    expect(unread).toBe(0);
    await expect(collect(mailbox)).rejects.toThrow('too slow');
  });

  it('counts unread events until they are read, or the reader leaves', async () => {
    let unread = 0;
    const mailbox = new Mailbox({ add: (bytes) => (unread += bytes) });
    mailbox.push([...PILE, text('m', 'a'), text('m', 'b')]);
    const piled = EVENT_BYTES + charsIn(PILED) - 'item-started'.length;
    expect(unread).toBe(PILE.length * piled + EVENT_BYTES + 2);
    for await (const event of mailbox) {
      expect(event).toEqual(PILE[0]);
      expect(unread).toBe((PILE.length - 1) * piled + EVENT_BYTES + 2);
      break;
    }
    expect(unread).toBe(0);
  });

  it('a long text in small deltas keeps few events, however slow the reader is', async () => {
    const mailbox = new Mailbox();
    for (let index = 0; index < 10_000; index += 1) mailbox.push([text('m', 'x')]);
    mailbox.close();
    const read = await collect(mailbox);
    expect(read.length).toBeLessThanOrEqual(COALESCE_ABOVE + 1);
    expect(joined(read)).toEqual([text('m', 'x'.repeat(10_000))]);
  });

  it('loses nothing and keeps the order, at any pace of reading', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turnEvents, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(20), { minLength: 1 }),
        async (turns, paces) => {
          const mailbox = new Mailbox();
          const reader = mailbox[Symbol.asyncIterator]();
          const all = [...PILE, ...turns.flat()];
          const read: TurnEvent[] = [];
          let pushed = PILE.length;
          mailbox.push(PILE);
          for (let step = 0; pushed < all.length; step += 1) {
            const batch = all.slice(pushed, pushed + 1 + (paces[step % paces.length] ?? 0));
            mailbox.push(batch);
            pushed += batch.length;
            // Now and then one is read; the pile grows in between.
            if (step % 3 === 0) read.push((await reader.next()).value as TurnEvent);
          }
          mailbox.close();
          for (;;) {
            const next = await reader.next();
            if (next.done === true) break;
            read.push(next.value);
          }
          expect(joined(read)).toEqual(joined(all));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('counts its unread events, joined or not', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 30 }), { maxLength: 2_000 }), (deltas) => {
        let unread = 0;
        const mailbox = new Mailbox({ add: (more) => (unread += more) });
        let bytes = 0;
        for (const [index, delta] of deltas.entries()) {
          mailbox.push([text('m', delta)]);
          bytes += delta.length + (index < COALESCE_ABOVE ? EVENT_BYTES : 0);
          expect(unread).toBe(bytes);
        }
      }),
    );
  });

  it.each<[string, TurnEvent, TurnEvent]>([
    [
      'refusals',
      { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'a' },
      { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'aa' },
    ],
    [
      'arguments',
      { type: 'item-delta', itemId: 'c', at: 'input', delta: 'a' },
      { type: 'item-delta', itemId: 'c', at: 'input', delta: 'aa' },
    ],
    [
      'raw reasoning',
      { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 1 }, delta: 'a' },
      { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 1 }, delta: 'aa' },
    ],
  ])('joins %s too', async (_, piece, both) => {
    const mailbox = new Mailbox();
    mailbox.push([...PILE, piece, piece]);
    mailbox.close();
    expect((await collect(mailbox)).at(-1)).toEqual(both);
  });
});
