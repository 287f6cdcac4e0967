import { describe, expect, it, vi } from 'vitest';

import { eventsOf, freshTransports, textOf } from '../../../../../test/support/socket-transport.ts';
import { answerHello, finishAnswer, sendEvent } from '../../../../../test/support/socket-backend.ts';
import { readErrorFrame, toFailedEvent, limitHeaders } from './socket-answer.ts';

const opened = freshTransports();
const BODY = { model: 'm', input: [{ text: 'ä' }], store: false, stream: true };
const HELLO = ['response.created', 'response.output_text.delta', 'response.completed'];

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
    await expect.poll(() => heard).toEqual(['event', 'event', 'event', 'keepalive', 'event']);
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
    await expect.poll(() => backend.sockets[0]?.readyState).toBe(3);
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
    await expect.poll(() => backend.sockets[0]?.readyState).toBe(3);
    const second = await transport.send(request(BODY));
    second.body.destroy();
    await expect
      .poll(() => backend.sockets.filter(({ readyState }) => readyState === 1).length)
      .toBeLessThan(2);
  });
});

describe('a spare that the backend closes while it gets its first request', () => {
  it.each([1000, 1001, 1012])('with %i: the request goes again on a fresh socket', async (code) => {
    const { backend, transport, request, noted } = await opened({
      answer: (ws, { socket }) => (socket === 0 ? ws.close(code) : answerHello(ws)),
    });
    transport.warm(request(BODY).url, request(BODY).headers);
    await vi.waitFor(() => expect(noted).toEqual(['dial 101']));
    await expect(transport.send(request(BODY))).rejects.toMatchObject({ reason: 'closed', needsPost: false });
    const answer = await transport.send(request(BODY, { route: { transport: 'any', isFresh: true } }));
    expect(await eventsOf(answer)).toEqual(HELLO);
    expect(backend.posts).toEqual([]);
  });

  it('with 1008 is rejected', async () => {
    const { transport, request, noted } = await opened({ answer: (ws) => ws.close(1008) });
    transport.warm(request(BODY).url, request(BODY).headers);
    await vi.waitFor(() => expect(noted).toEqual(['dial 101']));
    await expect(transport.send(request(BODY))).rejects.toMatchObject({ reason: 'closed', needsPost: true });
  });
});

describe('error frame', () => {
  const ERROR = { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_at: 1 };

  it('is an answer with a status, headers and a body', () => {
    const headers = {
      'X-Codex-Primary-Used-Percent': 100,
      'retry-after': '3',
      'content-length': '5',
      'a b': 'c',
      x: {},
    };
    expect(readErrorFrame({ type: 'error', status: 429, error: ERROR, headers })).toEqual({
      status: 429,
      headers: { 'x-codex-primary-used-percent': '100', 'retry-after': '3' },
      body: { error: ERROR },
      isAgeLimit: false,
      isDuplicateItem: false,
    });
  });

  it('reads the other names of a status, and none', () => {
    expect(readErrorFrame({ type: 'error', status_code: 503 }).status).toBe(503);
    for (const status of [200, '429', 429.5, undefined])
      expect(readErrorFrame({ type: 'error', ...(status === undefined ? {} : { status }) }).status).toBe(
        null,
      );
  });

  it('recognises what another socket would not report', () => {
    const limit = { code: 'websocket_connection_limit_reached' };
    const duplicate = { message: 'Duplicate item found with id msg_1. Remove it.' };
    expect(readErrorFrame({ type: 'error', status: 400, error: limit }).isAgeLimit).toBe(true);
    expect(readErrorFrame({ type: 'error', status: 400, error: duplicate }).isDuplicateItem).toBe(true);
  });

  it('becomes the last event of a stream', () => {
    expect(toFailedEvent(readErrorFrame({ type: 'error', status: 500, error: ERROR }))).toEqual({
      type: 'response.failed',
      status: 500,
      response: { object: 'response', status: 'failed', error: ERROR },
    });
    expect(toFailedEvent(readErrorFrame({ type: 'error', detail: 'Bad' }))).toMatchObject({
      response: { error: { message: 'Bad' } },
    });
  });
});

describe('limitHeaders', () => {
  const LIMITS = {
    primary: { used_percent: 42.5, window_minutes: 300, reset_at: 1_900_000_000 },
    secondary: { used_percent: 7, window_minutes: null, reset_at: 1_900_500_000 },
  };

  it('has the names of the headers of a POST', () => {
    const event = {
      type: 'codex.rate_limits',
      plan_type: 'plus',
      rate_limits: LIMITS,
      credits: { has_credits: true, unlimited: false, balance: '9.5' },
    };
    expect(limitHeaders(event)).toEqual({
      'x-codex-primary-used-percent': '42.5',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': '1900000000',
      'x-codex-secondary-used-percent': '7',
      'x-codex-secondary-reset-at': '1900500000',
      'x-codex-plan-type': 'plus',
      'x-codex-credits-has-credits': 'True',
      'x-codex-credits-unlimited': 'False',
      'x-codex-credits-balance': '9.5',
    });
  });

  it('keeps the limits of other names apart', () => {
    const { primary } = LIMITS;
    expect(limitHeaders({ metered_limit_name: 'Codex_Other', rate_limits: { primary } })).toEqual({
      'x-codex-other-primary-used-percent': '42.5',
      'x-codex-other-primary-window-minutes': '300',
      'x-codex-other-primary-reset-at': '1900000000',
    });
  });

  it('ignores what cannot be a header', () => {
    expect(limitHeaders({ plan_type: 'a\r\nb', limit_name: 'x\ny', rate_limits: [], credits: 'no' })).toEqual(
      {},
    );
  });
});
