import { describe, expect, it } from 'vitest';

import { ModelBudget, type Retry } from '../../src/canonical/context/model-budget.ts';
import {
  answerHello,
  finishAnswer,
  sendEvent,
  type SocketBackendOptions,
} from '../support/socket-backend.ts';
import { freshTransports } from '../support/socket-transport.ts';
import { recordingTrace } from '../support/recording-trace.ts';
import { completed, freshRelays } from './backend.ts';
import { until } from '../support/until.ts';

const start = freshRelays();
const opened = freshTransports();

/** A relay whose backend speaks WebSocket. */
const overSockets = async (options: SocketBackendOptions, firstEventTimeoutMs = 10_000) => {
  const { backend, transport, noted } = await opened(options);
  const resends: string[] = [];
  const relay = await start(completed, {
    targets: { model: backend.origin, account: null, authApi: null, refresh: null, revoke: null },
    transport,
    firstEventTimeoutMs,
    onRetry: (_, reason, used) => resends.push(`${used} ${reason}`),
  });
  const retries: Retry[] = [];
  const records: { kind: string; facts: object }[] = [];
  const trace = recordingTrace((kind, facts) => void records.push({ kind, facts }));
  const budget = new ModelBudget(64, { onRetry: (retry) => retries.push(retry) });
  const turn = relay.openWithTools('t1', { budget, trace });
  const ask = async (): Promise<string> => {
    const response = await relay.post(
      't1',
      { model: 'm', input: [] },
      { headers: { authorization: 'Bearer t' } },
    );
    return `${response.status} ${await response.text().catch(() => 'cut')}`;
  };
  const facts = (kind: string): object[] =>
    records.filter((one) => one.kind === kind).map((one) => one.facts);
  return { backend, noted, resends, retries, budget, turn, ask, facts };
};

describe('a turn over a WebSocket', () => {
  it('is passed on as events, and its trace names the transport', async () => {
    const { backend, budget, ask, facts, turn } = await overSockets({
      head: { 'x-codex-plan-type': 'plus' },
    });
    expect(await ask()).toContain('event: response.output_text.delta');
    expect([backend.frames.length, backend.posts.length, budget.used]).toEqual([1, 0, 1]);
    expect(facts('wire-head')).toMatchObject([
      { transport: 'websocket', head: { 'x-codex-plan-type': 'plus' } },
    ]);
    expect(facts('wire-sent')).toHaveLength(1);
    expect(facts('wire-said')).toHaveLength(3);
    expect(turn.refused()).toBe(null);
  });

  it('has the errors of a POST', async () => {
    const error = { type: 'usage_limit_reached', message: 'over', resets_in_seconds: 60 };
    const { ask, turn, facts, resends } = await overSockets({
      answer: (ws) => sendEvent(ws, { type: 'error', status: 429, error }),
    });
    expect(await ask()).toBe(`429 ${JSON.stringify({ error })}`);
    expect(turn.refused()).toMatchObject({ kind: 'insufficient_quota', retryAfterSeconds: 60 });
    expect(facts('wire-refused')).toMatchObject([{ transport: 'websocket', status: 429 }]);
    expect(resends).toEqual([]);
  });

  it('is sent again on a fresh socket, then by POST, and counted each time', async () => {
    const { backend, ask, resends, retries, budget } = await overSockets({
      answer(ws) {
        sendEvent(ws, { type: 'response.created', response: { id: 'resp_0' } });
        // After the event has arrived.
        ws.close(1011);
      },
    });
    const text = await ask();
    expect(text).toContain('posted');
    expect(text).not.toContain('resp_0');
    expect(resends).toEqual(['websocket closed', 'websocket closed']);
    expect(backend.frames.map(({ socket }) => socket)).toHaveLength(2);
    expect(new Set(backend.frames.map(({ socket }) => socket)).size).toBe(2);
    expect([backend.posts.length, budget.used, retries.length]).toEqual([1, 3, 2]);
  });

  it('is sent again if the backend is overloaded', async () => {
    const error = { code: 'server_is_overloaded', message: 'later' };
    const { backend, ask, resends } = await overSockets({
      answer(ws) {
        if (backend.frames.length === 1) sendEvent(ws, { type: 'error', status: 503, error });
        else answerHello(ws);
      },
    });
    expect(await ask()).toContain('hello');
    expect(resends).toEqual(['websocket server-error']);
    expect(new Set(backend.frames.map(({ socket }) => socket)).size).toBe(2);
  });

  it('is sent again if it does not begin, once', async () => {
    const { backend, ask, resends, turn } = await overSockets(
      { answer: (ws) => sendEvent(ws, { type: 'response.created', response: {} }) },
      150,
    );
    expect(await ask()).toMatch(/^502 /);
    expect(resends).toEqual(['websocket no-first-event']);
    expect(new Set(backend.frames.map(({ socket }) => socket)).size).toBe(2);
    expect(turn.refused()).toMatchObject({ kind: 'upstream_timeout' });
  });

  it('is not sent again after output', async () => {
    const { backend, ask, resends, turn } = await overSockets({
      answer(ws) {
        sendEvent(ws, { type: 'response.output_text.delta', delta: 'Half' });
        // Only when it has arrived: what a cut connection loses was not output.
        void until(() => turn.events.length === 1).then(() => ws.terminate());
      },
    });
    await ask().catch(() => '');
    expect([backend.frames.length, backend.posts.length, resends]).toEqual([1, 0, []]);
    expect(turn.refused()).toMatchObject({ kind: 'upstream_error' });
  });

  it('is closed with its socket if codex disconnects', async () => {
    const { backend, ask, turn } = await overSockets({
      answer(ws) {
        sendEvent(ws, { type: 'response.output_text.delta', delta: 'Half' });
        turn.relayTurn.close();
        ws.on('close', () => finishAnswer(ws));
      },
    });
    await ask().catch(() => '');
    await expect.poll(() => backend.sockets[0]?.readyState).toBe(3);
    expect(backend.posts).toEqual([]);
  });
});
