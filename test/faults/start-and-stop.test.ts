import { afterEach, expect, it, vi } from 'vitest';

import { OpenParts } from '../../src/compose/open-features.ts';
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
