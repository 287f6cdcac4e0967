import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { slow } from '../support/scripts.ts';
import { freshProxies, untilSocket } from './hooks.ts';
import { codeOf, outputText, sentBy, type Answered, type ChatGptProxy } from './proxy.ts';
import type { UpgradeFault } from './socket-server.ts';

/** What happens before there is a socket. It has lasting effects: each of these tests has a new proxy. */
const fresh = freshProxies();

const HELLO = 'Hello from the scripted model.';
const ask = (at: ChatGptProxy, more: JsonObject = {}): Promise<Answered> =>
  at.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?', ...more });

const FAULTS: readonly UpgradeFault[] = [
  { status: 401 },
  { status: 403 },
  { status: 426 },
  { status: 429 },
  { status: 500 },
  { status: 502 },
  { status: 503 },
  'cloudflare-page',
  'no-answer',
];

describe('an upgrade', () => {
  it.each(FAULTS)('refused with %j does not delay the request: it is posted', async (fault) => {
    const at = await fresh({ prepare: (backend) => backend.failUpgrade(fault) });
    for (let index = 0; index < 3; index += 1) expect(outputText(await ask(at))).toBe(HELLO);
    expect(sentBy(at)).toEqual(['http', 'http', 'http']);
    // Not one dial for each request. A refusal says nothing about the login.
    expect(at.backend.dials.length).toBeLessThan(4);
    expect(at.backend.refreshes).toBe(0);
  });

  it('that is refused once is tried again later', async () => {
    const at = await fresh({ prepare: (backend) => backend.failUpgrade({ status: 403 }, 1) });
    expect(outputText(await ask(at))).toBe(HELLO);
    await expect
      .poll(
        async () => {
          await ask(at);
          return sentBy(at).at(-1);
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBe('websocket');
  });
});

describe('PROXY_CHATGPT_TRANSPORT', () => {
  it('http never dials', async () => {
    const at = await fresh({ env: { PROXY_CHATGPT_TRANSPORT: 'http' } });
    expect(outputText(await ask(at))).toBe(HELLO);
    expect([sentBy(at), at.backend.dials]).toEqual([['http'], []]);
  });

  it('websocket never posts', async () => {
    const at = await fresh({ env: { PROXY_CHATGPT_TRANSPORT: 'websocket' } });
    expect(outputText(await ask(at))).toBe(HELLO);
    at.backend.failUpgrade({ status: 426 });
    at.backend.cutSockets('all');
    expect((await ask(at)).status).toBeGreaterThan(499);
    expect(sentBy(at)).not.toContain('http');
  });
});

describe('a message that the service finds too large', () => {
  it('is posted, and so is the next one of its size', async () => {
    const at = await fresh();
    await untilSocket(at);
    at.backend.fail({ kind: 'close', code: 1009, after: 'nothing' }, 1);
    const large = { input: 'x'.repeat(100_000) };
    expect(outputText(await ask(at, large))).toBe(HELLO);
    expect(sentBy(at)).toEqual(['websocket', 'http']);
    expect(outputText(await ask(at, large))).toBe(HELLO);
    expect(sentBy(at)).toEqual(['websocket', 'http', 'http']);
    await untilSocket(at);
  });

  it('is a failure after output, as any end of a socket', async () => {
    const at = await fresh();
    await untilSocket(at);
    at.backend.fail({ kind: 'close', code: 1009, after: 'output' }, 1);
    const { text } = await ask(at, { stream: true });
    expect(text.match(/^event: response\.failed$/gm)).toHaveLength(1);
    expect(sentBy(at)).toEqual(['websocket']);
  });
});

describe('a spare socket', () => {
  it.each([1000, 1001, 1012])(
    'that the service closes with %i does not make requests POSTs',
    async (code) => {
      const at = await fresh();
      const spares = () =>
        at.backend.dials.filter(
          ({ status, frames, closed }) => status === 101 && frames === 0 && closed === null,
        );
      expect(outputText(await ask(at))).toBe(HELLO);
      for (let turn = 0; turn < 2; turn += 1) {
        at.backend.closeSockets(code);
        await expect.poll(() => spares().length, { timeout: 20_000 }).toBeGreaterThan(0);
        at.backend.closeSockets(code);
        expect(outputText(await ask(at))).toBe(HELLO);
      }
      expect(sentBy(at)).not.toContain('http');
    },
  );
});

describe('a renewed token', () => {
  it('after the upgrade is refused with 401: the request goes over a socket', async () => {
    const at = await fresh();
    expect(outputText(await ask(at))).toBe(HELLO);
    at.backend.spoilTokens('expired');
    at.backend.cutSockets('all');
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(at.backend.refreshes).toBe(1);
    expect(at.backend.dials.map(({ status }) => status)).toContain(401);
    expect(sentBy(at).at(-1)).toBe('websocket');
  });

  it.each(['expired', 'invalidated'] as const)(
    'after the old one is %s: its sockets are not used again',
    async (how) => {
      const at = await fresh();
      await Promise.all(Array.from({ length: 4 }, () => ask(at)));
      const old = at.backend.modelRequests[0]?.headers.authorization;
      at.backend.spoilTokens(how);
      expect(outputText(await ask(at))).toBe(HELLO);
      expect(at.backend.refreshes).toBe(1);
      const before = at.backend.modelRequests.length;
      await Promise.all(Array.from({ length: 4 }, (_, index) => ask(at, { stream: index % 2 === 0 })));
      const since = at.backend.modelRequests.slice(before);
      expect(since.map(({ headers }) => headers.authorization)).not.toContain(old);
      expect(since.map(({ dial }) => dial?.headers.authorization ?? null)).not.toContain(old);
      expect(at.backend.refreshes).toBe(1);
      // The sockets of an old login are closed.
      const openOnes = at.backend.dials.filter(({ status, closed }) => status === 101 && closed === null);
      await expect
        .poll(() =>
          openOnes.filter(({ closed, headers }) => closed === null && headers.authorization === old),
        )
        .toEqual([]);
    },
  );

  it('lets an answer in progress end', async () => {
    const at = await fresh({ script: slow(150) });
    const running = ask(at, { stream: true });
    await expect.poll(() => at.backend.modelRequests.length).toBe(1);
    at.backend.spoilTokens('expired');
    expect(outputText(await ask(at))).toBe('one two three four five');
    expect(outputText(await running)).toBe('one two three four five');
    expect(at.backend.refreshes).toBe(1);
  });
});

describe('another login', () => {
  it('is served by its own sockets', async () => {
    const at = await fresh();
    expect(outputText(await ask(at))).toBe(HELLO);
    await at.backend.writeLogin(at.home, { accountId: 'acc-2', plan: 'pro' });
    await expect
      .poll(
        async () => {
          const answered = await ask(at);
          return answered.headers.get('x-codex-plan-type');
        },
        { timeout: 30_000, interval: 200 },
      )
      .toBe('pro');
    const last = at.backend.modelRequests.at(-1);
    expect(last?.headers['chatgpt-account-id']).toBe('acc-2');
    expect(last?.dial?.headers['chatgpt-account-id'] ?? 'acc-2').toBe('acc-2');
  });
});

describe('a service that is slow over POST', () => {
  it('is not, over its socket', async () => {
    const at = await fresh({
      prepare: ({ settings }) => {
        settings.sseDelayMs = 20_000;
      },
    });
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(sentBy(at)).toEqual(['websocket']);
  });
});

describe('a socket', () => {
  it('that grew old is replaced, and no client sees it', async () => {
    const at = await fresh({
      prepare: ({ settings }) => {
        settings.websocketMinutes = 300 / 60_000;
      },
    });
    const hasClosed = (): boolean => at.backend.dials.some((dial) => dial.closed !== null);
    for (let index = 0; index < 12 || (index < 1_000 && !hasClosed()); index += 1) {
      const answered = await ask(at);
      expect([codeOf(answered), outputText(answered)]).toEqual(['200 no code', HELLO]);
    }
    expect(hasClosed()).toBe(true);
  });

  it('that is idle answers pings', async () => {
    const at = await fresh({
      prepare: ({ settings }) => {
        settings.pingEveryMs = 50;
        settings.pongWithinMs = 5_000;
      },
    });
    await ask(at);
    await expect.poll(() => Math.max(...at.backend.dials.map(({ pongs }) => pongs))).toBeGreaterThan(2);
  });
});
