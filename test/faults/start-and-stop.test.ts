import { afterEach, expect, it, vi } from 'vitest';

import { drainAll, OpenParts } from '../../src/compose/open-features.ts';
import { hello } from '../support/scripts.ts';
import { startProxy } from '../support/proxy.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

interface Watch {
  /** The open that fails, counted from 0. */
  readonly failingOpen?: number;
  readonly doCloseFail?: boolean;
}

/** Notes what a server opens and closes, in order. */
const watchParts = ({ failingOpen, doCloseFail = false }: Watch) => {
  const opened: string[] = [];
  const closed: string[] = [];
  const add = OpenParts.prototype.add;
  vi.spyOn(OpenParts.prototype, 'add').mockImplementation(function (this: OpenParts, name, part) {
    if (opened.length === failingOpen) {
      // It could not be opened, so it is not there.
      void part.close?.();
      throw new Error(`no ${name}`);
    }
    opened.push(name);
    add.call(this, name, {
      async close() {
        closed.push(name);
        await part.close?.();
        if (doCloseFail) throw new Error(`${name} stays`);
      },
    });
    return part;
  });
  return { opened, closed };
};

it('one close that fails does not keep the other parts open', async () => {
  const { opened, closed } = watchParts({ doCloseFail: true });
  const proxy = await startProxy(hello);
  expect((await proxy.post('/v1/responses', { model: 'm', input: 'Hi' })).status).toBe(200);
  await proxy.close();
  expect(opened.length).toBeGreaterThan(8);
  expect(closed).toEqual(opened.toReversed());
  const told = proxy.log.filter(({ msg }) => msg === 'could not be closed').map(({ part }) => part);
  expect(told).toEqual(closed);
});

it('a start that fails anywhere closes what is open, the last part first', async () => {
  const { opened: all } = watchParts({});
  await (await startProxy(hello)).close();
  vi.restoreAllMocks();
  for (const [failingOpen, name] of all.entries()) {
    const { opened, closed } = watchParts({ failingOpen });
    await expect(startProxy(hello)).rejects.toThrow(`no ${name}`);
    expect(opened).toEqual(all.slice(0, failingOpen));
    expect(closed).toEqual(opened.toReversed());
    vi.restoreAllMocks();
  }
});

it('a feature that cannot wait for its requests, or never ends, does not keep the others open', async () => {
  const errors: unknown[] = [];
  const parts = [
    { name: 'one', drain: () => Promise.reject(new Error('broken')) },
    { name: 'two', drain: () => new Promise<void>(() => {}) },
    { name: 'three', drain: () => Promise.resolve() },
  ];
  vi.useFakeTimers();
  const drained = drainAll(parts, 1_000, (error) => errors.push(error));
  await vi.advanceTimersByTimeAsync(16_000);
  await drained;
  const closed: string[] = [];
  const open = new OpenParts((error, name) => errors.push(`${name}: ${String(error)}`));
  open.add('first', { close: () => void closed.push('first') });
  open.add('second', { close: () => new Promise<void>(() => {}) });
  const closing = open.close();
  await vi.advanceTimersByTimeAsync(30_000);
  await closing;
  vi.useRealTimers();
  expect([closed, errors]).toEqual([
    ['first'],
    [
      new Error('broken'),
      new Error('draining two takes more than 16 s'),
      'second: Error: closing second takes more than 30 s',
    ],
  ]);
});
