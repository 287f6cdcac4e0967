import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, slow } from '../support/scripts.ts';
import { ask, backend, fullWithHistory, useBackend } from './ask-backend.ts';
import { type AskSocket, dial, frameOf, refusedDial, upgradeHeaders } from './ask-socket.ts';
import type { Fault } from './faults.ts';

/** What can be switched to go wrong on the WebSocket of the imitation. */
useBackend();

const opened: AskSocket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.close();
});

const open = async (): Promise<AskSocket> => {
  const socket = await dial(upgradeHeaders(fullWithHistory()));
  opened.push(socket);
  return socket;
};
const typesOf = (events: readonly JsonObject[]): readonly unknown[] => events.map(({ type }) => type);
const isServed = (events: readonly JsonObject[]): boolean => typesOf(events).at(-1) === 'response.completed';

describe('an upgrade', () => {
  it.each([
    [{ status: 401 }, 'Unauthorized'],
    [{ status: 403 }, ''],
    [{ status: 426 }, ''],
    [{ status: 429 }, 'usage_limit_reached'],
    [{ status: 500 }, 'Internal Server Error'],
    [{ status: 502 }, ''],
    [{ status: 503 }, 'server_is_overloaded'],
  ] as const)('can be refused with %j, a number of times', async (fault, body) => {
    backend.failUpgrade(fault, 1);
    const refused = await refusedDial(upgradeHeaders(fullWithHistory()));
    expect(refused.status).toBe(fault.status);
    expect(refused.body === '').toBe(body === '');
    expect(refused.body).toContain(body);
    await open();
    expect(backend.dials.map(({ status }) => status)).toEqual([fault.status, 101]);
  });

  it('can be refused with a page', async () => {
    backend.failUpgrade('cloudflare-page');
    const refused = await refusedDial(upgradeHeaders(fullWithHistory()));
    expect([refused.status, refused.headers['cf-mitigated']]).toEqual([403, 'challenge']);
    // The switch is for upgrades only.
    expect((await ask(fullWithHistory())).status).toBe(200);
  });

  it('can have no answer', async () => {
    backend.failUpgrade('no-answer', 1);
    const silent = dial(upgradeHeaders(fullWithHistory()));
    silent.catch(() => {});
    await expect.poll(() => backend.dials.length).toBe(1);
    await open();
    expect(backend.dials.map(({ status }) => status)).toEqual([null, 101]);
  });
});

describe('a frame', () => {
  const tried = async (fault: Fault): Promise<{ types: readonly unknown[]; closed: string | null }> => {
    backend.fail(fault, 1);
    const socket = await open();
    const types = typesOf(await socket.answer(fullWithHistory()));
    const isOpen = types.at(-1) === 'response.failed' || types.at(-1) === 'error';
    return { types, closed: isOpen ? null : await socket.closed };
  };
  const CREATED = ['response.created', 'response.metadata', 'codex.rate_limits'];
  const OUTPUT = [...CREATED, 'response.output_item.added', 'response.output_text.delta'];

  it.each([
    ['nothing', []],
    ['created', CREATED],
    ['output', OUTPUT],
  ] as const)('can be cut or closed after %s', async (after, types) => {
    expect(await tried({ kind: 'cut', after })).toEqual({ types, closed: '1006' });
    expect(await tried({ kind: 'close', code: 1011, after })).toEqual({ types, closed: '1011 a fault' });
    expect(await tried({ kind: 'close', code: 1009, after })).toEqual({ types, closed: '1009 a fault' });
  });

  it.each([
    ['nothing', 0],
    ['created', CREATED.length],
  ] as const)('can be silent after %s, on both transports', async (after, count) => {
    backend.fail({ kind: 'silent', after });
    const socket = await open();
    socket.send(frameOf(fullWithHistory()));
    for (let index = 0; index < count; index += 1) expect(await socket.next()).not.toBeNull();
    const posted = ask(fullWithHistory());
    await expect.poll(() => backend.modelRequests.length).toBe(2);
    const silence = sleep(50, 'silent');
    expect(await Promise.race([socket.next(), silence])).toBe('silent');
    if (after === 'nothing') expect(await Promise.race([posted, silence])).toBe('silent');
    else expect((await posted).status).toBe(200);
    posted.catch(() => {});
  });

  it('can meet overload and the usage limit, as error frames and as events', async () => {
    const socket = await open();
    backend.fail({ kind: 'overload', via: 'http' }, 1);
    expect(await socket.answer(fullWithHistory())).toMatchObject([
      { type: 'error', status: 503, status_code: 503, error: { code: 'server_is_overloaded' } },
    ]);
    backend.fail({ kind: 'overload', via: 'first-event' }, 1);
    expect(await socket.answer(fullWithHistory())).toMatchObject([{ type: 'response.failed' }]);
    backend.settings.primaryUsedPercent = 100;
    backend.fail({ kind: 'usage-limit', via: 'http', resetsInSeconds: 60 }, 1);
    expect(await socket.answer(fullWithHistory())).toMatchObject([
      {
        status: 429,
        error: { type: 'usage_limit_reached', resets_in_seconds: 60 },
        headers: { 'x-codex-primary-used-percent': '100' },
      },
    ]);
    expect(isServed(await socket.answer(fullWithHistory()))).toBe(true);
  });

  it('can come to a socket that is too old', async () => {
    expect(await tried({ kind: 'connection-limit' })).toMatchObject({ types: ['error'] });
    await expect.poll(() => backend.dials[0]?.closed?.code).toBe(1000);
  });

  it('can be a duplicate, on a used socket only', async () => {
    backend.fail({ kind: 'duplicate-item' });
    const socket = await open();
    expect(isServed(await socket.answer(fullWithHistory()))).toBe(true);
    expect(await socket.answer(fullWithHistory())).toMatchObject([
      { status: 400, error: { message: 'Duplicate item found with id msg_1.' } },
    ]);
    expect((await ask(fullWithHistory())).status).toBe(200);
  });

  it('can find its token revoked', async () => {
    const socket = await open();
    expect(isServed(await socket.answer(fullWithHistory()))).toBe(true);
    backend.spoilTokens('invalidated');
    expect(await socket.answer(fullWithHistory())).toMatchObject([
      { type: 'error', status: 401, error: { code: 'token_invalidated' } },
    ]);
  });
});

describe('a switch', () => {
  it('can be for one transport', async () => {
    backend.fail({ kind: 'burst' }, Infinity, 'websocket');
    const socket = await open();
    expect(await socket.answer(fullWithHistory())).toMatchObject([{ status: 429 }]);
    expect((await ask(fullWithHistory())).status).toBe(200);
    backend.reset();
    backend.fail({ kind: 'burst' }, Infinity, 'http');
    expect(isServed(await socket.answer(fullWithHistory()))).toBe(true);
    expect((await ask(fullWithHistory())).status).toBe(429);
  });

  it('makes POSTs slow and sockets not', async () => {
    backend.settings.sseDelayMs = 1_000;
    const socket = await open();
    const posted = ask(fullWithHistory());
    expect(await Promise.race([posted, socket.answer(fullWithHistory())])).toBeInstanceOf(Array);
    expect((await posted).status).toBe(200);
  });

  it('cuts all sockets, or the idle ones', async () => {
    backend.use(slow(20));
    const [idle, busy] = [await open(), await open()];
    const answer = busy.answer(fullWithHistory());
    await expect.poll(() => backend.modelRequests.length).toBe(1);
    backend.cutSockets('idle');
    expect(await idle.closed).toBe('1006');
    expect(isServed(await answer)).toBe(true);
    backend.cutSockets('all');
    expect(await busy.closed).toBe('1006');
    backend.use(hello);
  });
});
