import { once } from 'node:events';
import { describe, expect, it } from 'vitest';

import { eventsOf, freshTransports, textOf } from '../../../../../test/support/socket-transport.ts';
import { answerHello, sendEvent } from '../../../../../test/support/socket-backend.ts';

const opened = freshTransports();
const BODY = { model: 'm', input: [{ text: 'ä' }], store: false, stream: true };
const HELLO = ['response.created', 'response.output_text.delta', 'response.completed'];

describe('a request', () => {
  it('of an agent is posted: its signature would be too old for a socket that was opened ahead', async () => {
    const { backend, transport, request } = await opened();
    const headers = { ...request(BODY).headers, authorization: 'AgentAssertion signed' };
    transport.warm(request(BODY).url, headers);
    await textOf(await transport.send(request(BODY, { headers })));
    expect([backend.upgrades.length, backend.frames.length, backend.posts.length]).toEqual([0, 0, 1]);
  });

  it('is one message on a socket that is opened with the headers of a POST', async () => {
    const { backend, transport, request } = await opened();
    const headers = {
      ...request(BODY).headers,
      originator: 'ours',
      'session-id': 's',
      'x-openai-internal-codex-responses-lite': 'true',
      'x-codex-turn-state': 'before',
    };
    expect(await eventsOf(await transport.send(request(BODY, { headers })))).toEqual(HELLO);
    const start: unknown = expect.stringMatching(/^\d{13}$/);
    expect(backend.frames.map(({ body }) => body)).toEqual([
      {
        type: 'response.create',
        ...BODY,
        client_metadata: {
          ws_request_header_x_openai_internal_codex_responses_lite: 'true',
          'x-codex-turn-state': 'before',
          'x-codex-ws-stream-request-start-ms': start,
        },
      },
    ]);
    expect(backend.upgrades[0]).toMatchObject({
      authorization: 'Bearer token',
      originator: 'ours',
      'session-id': 's',
      'openai-beta': 'responses_websockets=2026-02-06',
      'sec-websocket-extensions': expect.stringContaining('permessage-deflate'),
    });
    const postOnly = ['x-codex-turn-state', 'accept', 'content-type', 'content-length', 'accept-encoding'];
    expect(postOnly.filter((name) => Object.hasOwn(backend.upgrades[0] ?? {}, name))).toEqual([]);
    expect(backend.posts).toEqual([]);
  });

  it('uses the socket of the last one', async () => {
    const { backend, transport, request } = await opened();
    for (let turn = 0; turn < 3; turn += 1) await textOf(await transport.send(request(BODY)));
    expect(backend.frames.map(({ socket }) => socket)).toEqual([0, 0, 0]);
  });

  it('is sent in fragments if it is large', async () => {
    const { backend, transport, request } = await opened();
    const large = { ...BODY, input: Array.from({ length: 3_000 }, (_, n) => `${n}${'x'.repeat(1_000)}`) };
    await textOf(await transport.send(request(large)));
    expect(backend.frames[0]?.body['input']).toEqual(large.input);
  });

  it('is posted if it is not a turn, or too large for a socket', async () => {
    const { backend, transport, request, noted } = await opened();
    await textOf(await transport.send(request(BODY, { isTurn: false })));
    await textOf(await transport.send(request({ input: 'x'.repeat(16 * 1024 * 1024) })));
    expect([backend.posts.length, backend.upgrades.length]).toEqual([2, 0]);
    expect(noted).toEqual(['http', 'fallback too-large', 'http']);
  });

  it('keeps cookies of the upgrade, and sends them', async () => {
    const { backend, transport, request, cookies } = await opened({ head: { 'set-cookie': 'cf=1; path=/' } });
    cookies.keep(backend.origin, 'known=2');
    await textOf(await transport.send(request(BODY)));
    expect(backend.upgrades[0]?.cookie).toBe('known=2');
    expect(cookies.headerFor(`${backend.origin}/responses`)).toBe('known=2; cf=1');
  });
});

describe('before the first output', () => {
  it('a socket that closes is lost, and the request may go again on a fresh one', async () => {
    const { backend, transport, request } = await opened({
      answer(ws, { socket }) {
        if (socket > 0 || backend.frames.length === 1) answerHello(ws);
        else ws.terminate();
      },
    });
    await textOf(await transport.send(request(BODY)));
    await expect(transport.send(request(BODY))).rejects.toMatchObject({ reason: 'closed', needsPost: false });
    const answer = await transport.send(request(BODY, { route: { transport: 'any', isFresh: true } }));
    expect(await eventsOf(answer)).toEqual(HELLO);
  });

  it('a new socket that closes at once is like a rejected upgrade', async () => {
    const { transport, request, noted } = await opened({
      answer: (ws) => ws.close(1008),
      upgrade: (nth) => (nth === 0 ? 101 : 403),
    });
    await expect(transport.send(request(BODY))).rejects.toMatchObject({ reason: 'closed', needsPost: true });
    await textOf(await transport.send(request(BODY)));
    expect(noted.filter((note) => note.startsWith('fallback'))).toEqual(['fallback dial-paused']);
  });

  it('a message that is too large is remembered', async () => {
    const { backend, transport, request, noted } = await opened({ answer: (ws) => ws.close(1009) });
    await expect(transport.send(request(BODY))).rejects.toMatchObject({
      reason: 'too-large',
      needsPost: true,
    });
    await textOf(await transport.send(request({ ...BODY, more: 'x' })));
    expect(noted).toContain('fallback too-large');
    expect(backend.frames.length).toBe(1);
  });

  it('the end of an old socket, and a mixed-up one, are not errors of the request', async () => {
    const errors = [
      { status: 400, error: { code: 'websocket_connection_limit_reached', message: '60 minutes' } },
      { status: 400, error: { message: 'Duplicate item found with id msg_1.' } },
    ];
    const { backend, transport, request } = await opened({
      answer(ws) {
        const error = backend.frames.length % 2 === 0 ? errors.shift() : undefined;
        if (error === undefined) answerHello(ws);
        else sendEvent(ws, { type: 'error', ...error });
      },
    });
    for (const reason of ['age-limit', 'duplicate-item']) {
      await textOf(await transport.send(request(BODY)));
      await expect(transport.send(request(BODY))).rejects.toMatchObject({ reason, needsPost: false });
    }
  });

  it.each(['response.output_text.delta', 'response.completed'])(
    'a late %s of the last answer is not one of the next',
    async (type) => {
      const { backend, transport, request } = await opened({
        answer(ws) {
          if (backend.frames.length > 1) sendEvent(ws, { type, delta: 'of another caller' });
          answerHello(ws);
        },
      });
      await textOf(await transport.send(request(BODY)));
      const next = transport.send(request(BODY));
      await expect(next).rejects.toMatchObject({ reason: 'out-of-turn', needsPost: false });
      await expect.poll(() => backend.sockets[0]?.readyState).toBeGreaterThan(1);
    },
  );

  it('a duplicate item on a fresh socket is an error of the request', async () => {
    const error = { message: 'Duplicate item found with id msg_1.' };
    const { transport, request } = await opened({
      answer: (ws) => sendEvent(ws, { type: 'error', status: 400, error }),
    });
    expect((await transport.send(request(BODY))).statusCode).toBe(400);
  });
});

describe('without a socket', () => {
  it.each([401, 403, 426, 429, 503])('a refused upgrade (%i) means POST, at once', async (status) => {
    const { backend, transport, request, noted, cookies } = await opened({ upgrade: () => status });
    for (let turn = 0; turn < 2; turn += 1) await textOf(await transport.send(request(BODY)));
    expect(noted).toEqual([
      `dial ${status}`,
      'fallback upgrade-refused',
      'http',
      'fallback dial-paused',
      'http',
    ]);
    expect(backend.posts.map(({ body }) => body)).toEqual([BODY, BODY]);
    expect(cookies.headerFor(backend.origin)).toBe('from=refusal');
  });

  it('a second resend is posted', async () => {
    const { backend, transport, request, noted } = await opened();
    await textOf(await transport.send(request(BODY, { route: { transport: 'http', isFresh: true } })));
    expect([noted, backend.upgrades.length]).toEqual([['fallback resend', 'http'], 0]);
  });

  it('a request fails if only WebSockets are allowed, and says why', async () => {
    const { backend, transport, request } = await opened({ mode: 'websocket', upgrade: () => 403 });
    for (let turn = 0; turn < 2; turn += 1)
      await expect(transport.send(request(BODY))).rejects.toMatchObject({ code: 'WS_403' });
    expect(backend.posts).toEqual([]);
  });

  it('an aborted request does not wait for an upgrade that is not answered', async () => {
    const { transport, request } = await opened({ upgrade: () => 0 });
    const left = new AbortController();
    const sending = transport.send(request(BODY, { signal: left.signal }));
    left.abort();
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
  });
});

it('opens a socket ahead for a login', async () => {
  const { backend, transport, request } = await opened();
  const { url, headers } = request(BODY);
  transport.warm(url, headers);
  await expect.poll(() => backend.sockets.length).toBe(1);
  await textOf(await transport.send(request(BODY)));
  expect(backend.frames.map(({ socket }) => socket)).toEqual([0]);
});

it('closes its sockets', async () => {
  const { backend, transport, request } = await opened();
  await textOf(await transport.send(request(BODY)));
  const [socket] = backend.sockets;
  if (socket === undefined) throw new Error('no socket');
  const closed = once(socket, 'close');
  transport.close();
  await expect(closed).resolves.toEqual([1005, Buffer.alloc(0)]);
});
