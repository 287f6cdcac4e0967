import { describe, expect, it } from 'vitest';

import { collect, emit } from '../../../test/support/turn-events.ts';
import { beginEvents, eventsBefore, handleEvents, NO_EVENTS, type EventHandler } from './handle-events.ts';
import type { TurnEvent } from './turn-event.ts';

const delta = (text: string): TurnEvent => ({ type: 'item-delta', itemId: 'm', at: 'text', delta: text });
const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 7 };

/** A source that notes when it was left. */
async function* source(events: readonly TurnEvent[], log: string[]): AsyncGenerator<TurnEvent> {
  try {
    yield* events;
    log.push('source ended');
  } finally {
    log.push('source over');
  }
}

/** Adds its name to each delta. */
const naming =
  (name: string, log: string[], different: Partial<EventHandler> = {}) =>
  (): EventHandler => {
    log.push(`${name} open`);
    return {
      event: (event) => (event.type === 'item-delta' ? { ...event, delta: event.delta + name } : event),
      over: () => void log.push(`${name} over`),
      ...different,
    };
  };

const chain = (events: AsyncIterable<TurnEvent>, ...opened: readonly (() => EventHandler)[]) =>
  opened.reduce(handleEvents, events);

describe('handleEvents', () => {
  it('passes events through all handlers in order, opens them when it is read, and ends the inner ones first', async () => {
    const log: string[] = [];
    const handled = chain(source([delta('x'), end], log), naming('a', log), naming('b', log));
    expect(log).toEqual([]);
    expect(await collect(handled)).toEqual([delta('xab'), end]);
    expect(log).toEqual(['a open', 'b open', 'source ended', 'source over', 'a over', 'b over']);
  });

  it('passes last events to the outer handlers only, and leaves the source when the reader asks for more', async () => {
    const log: string[] = [];
    const handled = chain(
      source([delta('x'), delta('y')], log),
      naming('a', log),
      naming('b', log, { event: () => [delta('last'), end] }),
      naming('c', log, { event: (event) => (event === end ? Promise.resolve([delta('late'), end]) : event) }),
    )[Symbol.asyncIterator]();
    expect([(await handled.next()).value, (await handled.next()).value]).toEqual([
      delta('last'),
      delta('late'),
    ]);
    expect((await handled.next()).value).toEqual(end);
    expect(log.slice(3)).toEqual([]);
    expect([await handled.next(), await handled.next()]).toEqual(
      Array.from({ length: 2 }, () => ({ done: true, value: undefined })),
    );
    expect(log.slice(3)).toEqual(['source over', 'a over', 'b over', 'c over']);
  });

  it('gives an error of the source or of a handler to the handlers around it', async () => {
    const log: string[] = [];
    const fails = () => {
      throw new Error('inner');
    };
    const handled = chain(
      source([delta('x')], log),
      naming('a', log, { event: fails, thrown: () => [] }),
      naming('b', log, {
        thrown(error) {
          throw new Error('outer', { cause: error });
        },
      }),
      naming('c', log, {
        thrown(error) {
          log.push(String(error));
          return [delta('c'), end];
        },
      }),
    );
    expect(await collect(handled)).toEqual([delta('c'), end]);
    expect(log.slice(3)).toEqual(['source over', 'Error: outer', 'a over', 'b over', 'c over']);
    await expect(collect(chain(emit([delta('x')]), naming('a', log, { event: fails })))).rejects.toThrow(
      'inner',
    );
    expect(log.at(-1)).toBe('a over');
  });

  it('ends with what a handler adds to a source that has ended', async () => {
    const log: string[] = [];
    const handled = chain(
      source([delta('x')], log),
      naming('a', log, { ended: () => [end] }),
      naming('b', log),
    );
    expect(await collect(handled)).toEqual([delta('xab'), end]);
  });

  it('asks each handler about an error once, and is over for all of them, wherever it comes from', async () => {
    const fails = (): never => {
      throw new Error('late');
    };
    for (const inner of [{ ended: fails }, { ended: () => [end] }, { event: fails, thrown: () => [end] }]) {
      const log: string[] = [];
      const handled = chain(
        source([delta('x')], log),
        naming('a', log, inner),
        naming('b', log, { event: (event) => (event === end ? fails() : event) }),
        naming('c', log, {
          thrown(error) {
            log.push(`c: ${String(error)}`);
            throw error;
          },
        }),
      );
      await expect(collect(handled)).rejects.toThrow('late');
      expect(log.slice(3).filter((line) => !line.startsWith('source'))).toEqual([
        'c: Error: late',
        'a over',
        'b over',
        'c over',
      ]);
    }
  });

  it('leaves the source with its reader, and opens nothing for a reader that asks for nothing', async () => {
    const log: string[] = [];
    const left = chain(source([delta('x'), end], log), naming('a', log))[Symbol.asyncIterator]();
    await left.next();
    await left.return?.();
    expect(log).toEqual(['a open', 'source over', 'a over']);
    expect(await left.next()).toEqual({ done: true, value: undefined });
    const never = chain(source([end], log), naming('never', log))[Symbol.asyncIterator]();
    await never.return?.();
    expect(log).toHaveLength(3);
  });

  const late: readonly (readonly [
    string,
    (step: PromiseWithResolvers<IteratorResult<TurnEvent>>) => void,
  ])[] = [
    ['an event', ({ resolve }) => resolve({ done: false, value: delta('late') })],
    ['an end', ({ resolve }) => resolve({ done: true, value: undefined })],
    ['an error', ({ reject }) => reject(new Error('late'))],
  ];

  it.each(late)(
    'passes nothing on after its reader has left: %s that was asked for before',
    async (_, settle) => {
      const log: string[] = [];
      const step = Promise.withResolvers<IteratorResult<TurnEvent>>();
      const events = { [Symbol.asyncIterator]: () => ({ next: () => step.promise }) };
      const noting = naming('a', log, {
        event: () => [delta('seen')],
        ended: () => [delta('ended')],
        thrown: () => [delta('thrown')],
      });
      const left = chain(events, noting)[Symbol.asyncIterator]();
      const pending = left.next();
      await left.return?.();
      settle(step);
      expect([await pending, await left.next()]).toEqual([
        { done: true, value: undefined },
        { done: true, value: undefined },
      ]);
      expect(log).toEqual(['a open', 'a over']);
    },
  );

  it.each<[string, (last: PromiseWithResolvers<readonly TurnEvent[]>) => void]>([
    ['are known', ({ resolve }) => resolve([end])],
    ['are empty', ({ resolve }) => resolve([])],
    ['cannot be known', ({ reject }) => reject(new Error('late'))],
  ])('passes no last events on if its reader has left before they %s', async (_, settle) => {
    const log: string[] = [];
    const last = Promise.withResolvers<readonly TurnEvent[]>();
    const outer = naming('b', log, {
      event: (event) => (log.push('b event'), event),
      ended: () => (log.push('b ended'), []),
      thrown: () => (log.push('b thrown'), []),
    });
    const asked = Promise.withResolvers<void>();
    const inner = naming('a', log, { event: () => (asked.resolve(), last.promise) });
    const left = chain(source([delta('x')], log), inner, outer)[Symbol.asyncIterator]();
    const pending = left.next();
    await asked.promise;
    await left.return?.();
    settle(last);
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(log).toEqual(['a open', 'b open', 'source over', 'a over', 'b over']);
  });
});

describe('beginEvents', () => {
  const begin = (log: string[]) => async () => {
    log.push('begun');
    return eventsBefore([delta('first')], source([delta('x'), end], log));
  };

  it('begins when it is read, and passes on the events', async () => {
    const log: string[] = [];
    const events = beginEvents(begin(log));
    expect(log).toEqual([]);
    expect(await collect(events)).toEqual([delta('first'), delta('x'), end]);
  });

  it('leaves what has begun, also while it begins', async () => {
    const log: string[] = [];
    const waiting = Promise.withResolvers<void>();
    const events = beginEvents(async () => {
      await waiting.promise;
      const started = source([delta('x'), end], log);
      await started.next();
      return started;
    })[Symbol.asyncIterator]();
    const first = events.next();
    const left = events.return?.();
    waiting.resolve();
    await Promise.all([first, left]);
    expect([log, await events.next()]).toEqual([['source over'], { done: true, value: undefined }]);
  });

  it('has no events after a beginning that has failed', async () => {
    const events = beginEvents(() => Promise.reject(new Error('no turn')))[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toThrow('no turn');
    expect(await events.next()).toEqual({ done: true, value: undefined });
    const before = { [Symbol.asyncIterator]: () => eventsBefore([end], NO_EVENTS) };
    expect(await collect(before)).toEqual([end]);
  });
});
