import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Item, Reasoning } from '../../canonical/request/item.ts';
import { ReasoningOrigins } from './reasoning-origins.ts';

const thought = (encryptedContent: string, more: Partial<Reasoning> = {}): Reasoning => ({
  kind: 'reasoning',
  id: 'rs_1',
  summary: [],
  encryptedContent,
  ...more,
});
const ended = (item: Reasoning): TurnEvent => ({ type: 'item-ended', item: { id: 'rs_1', ...item } });
const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };

describe('the origin of reasoning', () => {
  it('is named in what a backend writes, and only there', () => {
    const a = new ReasoningOrigins().of('a');
    expect(a.named(ended(thought('secret')))).toEqual(ended(thought('secret', { origin: 'a' })));
    const plain = ended({ kind: 'reasoning', summary: ['why'], content: ['Thinking aloud.'] });
    expect(a.named(plain)).toBe(plain);
  });

  it('decides who can read it, also if its client does not know it', () => {
    const origins = new ReasoningOrigins();
    const [a, b] = [origins.of('a'), origins.of('b')];
    const of = (one: Reasoning) => [a.isForeign(one), b.isForeign(one)];
    a.named(ended(thought('of a')));
    expect(of(thought('of a'))).toEqual([false, true]);
    expect(of(thought('stored', { origin: 'b' }))).toEqual([true, false]);
    expect(of(thought('unknown'))).toEqual([false, false]);
    expect(b.foreignIn([user, thought('of a'), thought('unknown')])).toBe(1);
  });

  it('is learned from a rejection, which blames what is unknown first', () => {
    const origins = new ReasoningOrigins();
    const [a, b] = [origins.of('a'), origins.of('b')];
    const items = [user, thought('own', { origin: 'b' }), thought('unknown')];
    const readable = (by: typeof a) => items.map((item) => item.kind === 'reasoning' && !by.isForeign(item));
    b.refused(items);
    expect([readable(a), readable(b)]).toEqual([
      [false, false, true],
      [false, true, false],
    ]);
    // Its own could not be read either.
    b.refused(items);
    expect(readable(b)).toEqual([false, false, false]);
  });

  it('is forgotten beyond a limit, the oldest first', () => {
    const origins = new ReasoningOrigins();
    const [a, b] = [origins.of('a'), origins.of('b')];
    for (let index = 0; index <= 20_000; index += 1) a.named(ended(thought(`thought ${index}`)));
    expect([b.isForeign(thought('thought 0')), b.isForeign(thought('thought 1'))]).toEqual([false, true]);
  });
});
