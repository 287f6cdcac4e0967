import { setImmediate } from 'node:timers/promises';

import type { AppServer, ThreadSignal } from '../../src/codex/app-server.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from '../../src/codex/rpc/errors.ts';
import type { WorkerPool } from '../../src/codex/worker/supervisor.ts';
import { textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import type { PlayedRelay } from './played-relay.ts';
import { objectIn, type TraceRecord } from './read-capture.ts';

/** Lines between two pauses, so that the event reader keeps up as with a real backend. */
const LINES_AT_ONCE = 20;

/** An app-server that repeats a capture: responses by method, in order, then all notifications of a thread. */
export const playedPool = (trace: readonly TraceRecord[], relay: PlayedRelay | null): WorkerPool => {
  const calls = trace.filter(({ kind }) => kind === 'rpc-sent').map(({ facts }) => facts);
  const listeners = new Map<string, (signal: ThreadSignal) => void>();

  const play = async (threadId: string): Promise<void> => {
    const lines = trace.filter(({ facts }) => facts['thread'] === threadId);
    for (const [at, record] of lines.entries()) {
      if (at % LINES_AT_ONCE === 0) await setImmediate();
      const { kind, facts } = record;
      if (kind === 'rpc-told') listeners.get(threadId)?.(signalOf(facts));
      else if (kind === 'rpc-asked')
        listeners.get(threadId)?.({ kind: 'tool-call', params: facts['params'], respond() {} });
      else await relay?.play(threadId, record);
    }
  };

  const request = async (method: string, params: JsonObject): Promise<unknown> => {
    // Choices run in parallel: match responses by thread.
    const threadOf = (one: JsonObject): Json | undefined => objectIn(one, 'params')['threadId'];
    const at = calls.findIndex(
      (one) => textIn(one, 'method') === method && threadOf(one) === params['threadId'],
    );
    const [call] = at === -1 ? [] : calls.splice(at, 1);
    if (call === undefined) {
      if (ENDS.has(method)) return {};
      throw new Error(`the capture has no further ${method}`);
    }
    const answer = trace.find(
      ({ kind, facts }) =>
        (kind === 'rpc-answered' || kind === 'rpc-failed') && facts['call'] === call['call'],
    );
    await setImmediate();
    if (answer?.kind === 'rpc-failed') throw errorOf(objectIn(answer.facts, 'error'), method);
    if (STARTS.has(method)) void play(textIn(params, 'threadId'));
    return answer?.facts['result'] ?? {};
  };

  const appServer = {
    request,
    watchThread(threadId: string, listener: (signal: ThreadSignal) => void) {
      listeners.set(threadId, listener);
      return () => listeners.delete(threadId);
    },
  } as unknown as AppServer;
  const lease = { appServer, isCurrent: () => false, release() {} };
  return { lease: async () => lease } as unknown as WorkerPool;
};

/** Methods after which notifications follow. */
const STARTS: ReadonlySet<string> = new Set(['turn/start', 'review/start']);
/** Methods whose occurrence depends on timing. */
export const ENDS: ReadonlySet<string> = new Set(['turn/interrupt', 'thread/unsubscribe']);

const signalOf = (facts: JsonObject): ThreadSignal =>
  facts['method'] === '(closed)'
    ? { kind: 'closed' }
    : { kind: 'notification', method: textIn(facts, 'method'), params: facts['params'] };

const errorOf = (error: JsonObject, method: string): Error => {
  const { name, code, data } = error;
  if (name === 'RpcError')
    return new RpcError({ code: Number(code), message: textIn(error, 'message'), data });
  return name === 'RequestTimeout' ? new RequestTimeout(method, 0) : new ConnectionClosed();
};
