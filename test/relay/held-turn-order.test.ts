import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';

import { settled } from '../support/fake-pool.ts';
import {
  appServerHeaders,
  closed,
  completed,
  freshRelays,
  inTurn,
  parsed,
  status,
  WHOLE,
  withPlaceholder,
  type Answer,
} from './backend.ts';

const start = freshRelays();

const tokenFor = (seconds: number): { readonly authorization: string } => ({
  authorization: `Bearer h.${Buffer.from(`{"exp":${seconds}}`).toString('base64url')}.s`,
});

/** The backend answers the requests of `t1` when the test says so. */
const startSlow = async () => {
  const pending: ((answer: Answer) => void)[] = [];
  const relay = await start((response, connectionInfo, nth) => {
    if (connectionInfo.headers['thread-id'] === 'id-of-elsewhere') completed(response, connectionInfo, nth);
    else pending.push((answer) => answer(response, connectionInfo, nth));
  });
  const { backend, open, post } = relay;
  open('t2', {}, true, { conversation: 'elsewhere' });
  return {
    ...relay,
    /** The requests of `t1` at the backend, after whatever is possible now. */
    async nths(): Promise<unknown[]> {
      await (await post('t2', { nth: null })).text();
      return backend.arrivals.map((one) => parsed(one)['nth']).filter((nth) => nth !== null);
    },
    /** Answers the only request that waits for it. */
    async answer(how: Answer = completed): Promise<void> {
      await expect.poll(() => pending.length).toBe(1);
      pending.shift()?.(how);
    },
  };
};

describe('model requests of a claimed turn at once', () => {
  it('are sent one after the other', async () => {
    const { nths, answer, open, post } = await startSlow();
    const { events, held } = open('t1');
    const first = post('t1', { nth: 1 }, { headers: tokenFor(1) });
    await expect.poll(nths).toEqual([1]);
    const second = post('t1', { nth: 2 }, { headers: tokenFor(2) });
    await expect.poll(() => held.expiresAtMs).toBe(2000);
    const third = post('t1', { nth: 3 }, { headers: tokenFor(3) });
    await expect.poll(() => held.expiresAtMs).toBe(3000);
    expect(await nths()).toEqual([1]);
    // Failed: both others have waited for it.
    await answer(status(400));
    expect((await first).status).toBe(400);
    await expect.poll(nths).toEqual([1, 2]);
    expect(await nths()).toEqual([1, 2]);
    await answer();
    await (await second).text();
    await answer();
    await (await third).text();
    expect(await nths()).toEqual([1, 2, 3]);
    expect(events).toEqual([...WHOLE, ...WHOLE]);
  });

  it('are sent one after the other if they were held', async () => {
    const { nths, answer, hold, post } = await startSlow();
    const { held, claim } = hold('t1');
    held.started('turn-1');
    const first = post('t1', { nth: 1 }, { headers: tokenFor(1) });
    await expect.poll(() => held.expiresAtMs).toBe(1000);
    const second = post('t1', { nth: 2 }, { headers: tokenFor(2) });
    await expect.poll(() => held.expiresAtMs).toBe(2000);
    claim();
    await expect.poll(nths).toEqual([1]);
    expect(await nths()).toEqual([1]);
    await answer();
    await (await first).text();
    await answer();
    await (await second).text();
    expect(await nths()).toEqual([1, 2]);
  });

  it('are sent one after the other after an answer', async () => {
    const { nths, answer, open, post } = await startSlow();
    const { held } = open('t1');
    const first = post('t1', { nth: 1 });
    await answer();
    await (await first).text();
    const others = [];
    for (const nth of [2, 3]) {
      others.push(post('t1', { nth }, { headers: tokenFor(nth) }));
      await expect.poll(() => held.expiresAtMs).toBe(nth * 1000);
    }
    await expect.poll(nths).toEqual([1, 2]);
    expect(await nths()).toEqual([1, 2]);
    for (const other of others) {
      await answer();
      await (await other).text();
    }
    expect(await nths()).toEqual([1, 2, 3]);
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

describe('an app-server that disconnects', () => {
  it('does no harm while its request is read and parsed, whenever that is', async () => {
    const { relay, backend, hold, post, noted } = await start(completed);
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(40) }] };
    const long = JSON.stringify(withPlaceholder({ input: Array.from({ length: 10_000 }, () => item) }));
    hold('t1').held.started('turn-1');
    for (let turns = 0; turns < 30; turns += 1) {
      const sent = httpRequest(`${relay.addresses.model}/responses`, {
        method: 'POST',
        headers: appServerHeaders('t1'),
      });
      sent.on('error', () => {});
      await new Promise<void>((resolve) => {
        sent.end(long, resolve);
      });
      // One turn of the event loop later than the time before.
      for (let nth = 0; nth < turns; nth += 1) await settled();
      sent.destroy();
    }
    const { claim } = hold('t2');
    claim();
    expect((await post('t2', {}, { headers: { 'x-codex-turn-metadata': '{}' } })).status).toBe(410);
    expect([noted.bugs, noted.lost, backend.arrivals]).toEqual([[], ['other-kind'], []]);
  });
});
