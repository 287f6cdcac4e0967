import { once } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { openSocketTransport, type OpenTransport } from '../../../../../test/support/socket-transport.ts';
import { answerHello, finishAnswer, sendEvent } from '../../../../../test/support/socket-backend.ts';
import type { TransportAnswer } from '../model-transport.ts';

const open: OpenTransport[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
const opened = async (...options: Parameters<typeof openSocketTransport>): Promise<OpenTransport> => {
  const one = await openSocketTransport(...options);
  open.push(one);
  return one;
};

const BODY = { model: 'm', input: [{ text: 'ä' }], store: false, stream: true };
const textOf = async ({ body }: TransportAnswer): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};
const eventsOf = async (answer: TransportAnswer): Promise<string[]> =>
  [...(await textOf(answer)).matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name);
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

describe('an answer', () => {
  it('begins with its first output, without the messages that are for the relay', async () => {
    let finish = (): void => {};
    const { backend, transport, request } = await opened({
      answer(ws) {
        sendEvent(ws, { type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 5 } } });
        sendEvent(ws, { type: 'response.created', response: { id: 'resp_1' } });
        sendEvent(ws, { type: 'response.metadata', headers: { 'x-codex-turn-state': 'state' } });
        sendEvent(ws, { type: 'keepalive' });
        sendEvent(ws, { type: 'responsesapi.websocket_timing' });
        finish = () => finishAnswer(ws);
      },
    });
    const begun = vi.fn<() => void>();
    const heard: string[] = [];
    const sending = transport.send(request(BODY, { onHeard: (sign) => heard.push(sign) })).finally(begun);
    await vi.waitFor(() => expect(heard).toEqual(['event', 'event', 'event', 'keepalive', 'event']));
    expect(begun).not.toHaveBeenCalled();
    finish();
    const answer = await sending;
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toEqual({
      'content-type': 'text/event-stream',
      'x-codex-primary-used-percent': '5',
      'x-codex-turn-state': 'state',
    });
    expect(await eventsOf(answer)).toEqual(HELLO);
    expect(backend.sockets[0]?.readyState).toBe(1);
  });

  it('has the limits of the 101 only on a fresh socket', async () => {
    const head = { 'x-codex-primary-used-percent': '10', 'x-request-id': 'r', 'x-codex-turn-state': 'no' };
    const { transport, request } = await opened({ head });
    const fresh = await transport.send(request(BODY));
    await textOf(fresh);
    expect(fresh.headers).toMatchObject({ 'x-codex-primary-used-percent': '10', 'x-request-id': 'r' });
    expect(fresh.headers).not.toHaveProperty('x-codex-turn-state');
    const reused = await transport.send(request(BODY));
    await textOf(reused);
    expect(reused.headers).toEqual({ 'content-type': 'text/event-stream' });
  });

  it('is an HTTP error if the backend reports one first', async () => {
    const error = { type: 'usage_limit_reached', message: 'over' };
    const { backend, transport, request } = await opened({
      answer: (ws) => sendEvent(ws, { type: 'error', status: 429, error, headers: { 'retry-after': '7' } }),
    });
    const answer = await transport.send(request(BODY));
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '7']);
    expect(JSON.parse(await textOf(answer))).toEqual({ error });
    await vi.waitFor(() => expect(backend.sockets[0]?.readyState).toBe(3));
  });

  it('ends with a failure if the backend reports an error after output', async () => {
    const { transport, request } = await opened({
      answer(ws) {
        sendEvent(ws, { type: 'response.output_text.delta', delta: 'a' });
        sendEvent(ws, { type: 'error', status: 500, error: { message: 'broken' } });
      },
    });
    const text = await textOf(await transport.send(request(BODY)));
    expect(text).toContain('event: response.failed\ndata: {"type":"response.failed","status":500');
    expect(text).toContain('broken');
  });

  it('breaks off if the socket closes after output', async () => {
    const { transport, request } = await opened({
      answer(ws) {
        sendEvent(ws, { type: 'response.output_text.delta', delta: 'a' });
        ws.close();
      },
    });
    const answer = await transport.send(request(BODY));
    await expect(textOf(answer)).rejects.toMatchObject({ code: 'ECONNRESET', reason: 'closed' });
  });

  it('closes its socket if it is not wanted any more', async () => {
    const { backend, transport, request } = await opened({
      answer: (ws) => sendEvent(ws, { type: 'response.output_text.delta', delta: 'a' }),
    });
    const left = new AbortController();
    const answer = await transport.send(request(BODY, { signal: left.signal }));
    left.abort();
    await expect(textOf(answer)).rejects.toMatchObject({ name: 'AbortError' });
    await vi.waitFor(() => expect(backend.sockets[0]?.readyState).toBe(3));
    const second = await transport.send(request(BODY));
    second.body.destroy();
    await vi.waitFor(() =>
      expect(backend.sockets.filter(({ readyState }) => readyState === 1).length).toBeLessThan(2),
    );
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
      await vi.waitFor(() => expect(backend.sockets[0]?.readyState).toBeGreaterThan(1));
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
  await vi.waitFor(() => expect(backend.sockets.length).toBe(1));
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
