import { describe, expect, it } from 'vitest';

import { closed, completed, freshRelays, inTurn, parsed, status, WHOLE } from './backend.ts';

const start = freshRelays();

describe('two model requests of a claimed turn at once', () => {
  it('are sent one after the other', async () => {
    const pending: (() => void)[] = [];
    const elsewhere = { conversation: 'elsewhere' };
    const { backend, open, post } = await start((response, connectionInfo, nth) => {
      if (connectionInfo.headers['thread-id'] === 'id-of-elsewhere') completed(response, connectionInfo, nth);
      else pending.push(() => (nth === 1 ? status(400) : completed)(response, connectionInfo, nth));
    });
    const nths = (): unknown[] => backend.arrivals.map((one) => parsed(one)['nth']);
    const { events } = open('t1');
    open('t2', {}, true, elsewhere);
    const first = post('t1', { nth: 1 });
    await expect.poll(() => pending.length).toBe(1);
    const second = post('t1', { nth: 2 });
    // Whatever was possible before it has been done after this.
    await (await post('t2', { nth: 'elsewhere' })).text();
    expect(nths()).toEqual([1, 'elsewhere']);
    // Failed: the second one is the first to be answered.
    pending.shift()?.();
    expect((await first).status).toBe(400);
    await expect.poll(() => pending.length).toBe(1);
    const third = post('t1', { nth: 3 });
    await (await post('t2', { nth: 'elsewhere' })).text();
    expect(nths()).toEqual([1, 'elsewhere', 2, 'elsewhere']);
    pending.shift()?.();
    await (await second).text();
    await expect.poll(() => pending.length).toBe(1);
    pending.shift()?.();
    await (await third).text();
    expect(nths()).toEqual([1, 'elsewhere', 2, 'elsewhere', 3]);
    expect(events).toEqual([...WHOLE, ...WHOLE]);
  });

  it('are one if the app-server disconnects from the first', async () => {
    const { backend, open, post } = await start(inTurn(() => {}, completed));
    const { events } = open('t1');
    const gone = new AbortController();
    const first = post('t1', {}, { signal: gone.signal }).catch(() => 'gone');
    await expect.poll(() => backend.arrivals.length).toBe(1);
    const second = post('t1', {});
    gone.abort();
    expect([await first, (await second).status]).toEqual(['gone', 200]);
    await expect.poll(() => backend.arrivals[0]?.aborted).toBe(true);
    expect(backend.arrivals).toHaveLength(2);
    expect(events).toEqual(WHOLE);
  });

  it('are both ended with the turn', async () => {
    const { backend, open, post } = await start(() => {});
    const { relayTurn } = open('t1');
    const first = post('t1', {}).catch(() => 'cut off');
    await expect.poll(() => backend.arrivals.length).toBe(1);
    const second = post('t1', {});
    relayTurn.close();
    expect([await first, (await second).status]).toEqual(['cut off', 410]);
    await closed(backend);
  });
});
