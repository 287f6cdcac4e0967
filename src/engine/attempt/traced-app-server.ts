import type { Trace } from '../../canonical/context/trace.ts';
import type { AppServer, ThreadSignal } from '../../codex/app-server.ts';
import { RpcError } from '../../codex/rpc/errors.ts';

/** The same app-server; its calls and notifications are recorded in the trace. */
export const tracedAppServer = (appServer: AppServer, trace: Trace): AppServer =>
  trace.isRecording ? recorded(appServer, trace) : appServer;

const recorded = (appServer: AppServer, trace: Trace): AppServer => ({
  async request(method, params, options) {
    const call = trace.next();
    trace.record('rpc-sent', { call, method, params });
    try {
      const result = await appServer.request(method, params, options);
      trace.record('rpc-answered', { call, method, result });
      return result;
    } catch (error) {
      trace.record('rpc-failed', { call, method, error: described(error) });
      throw error;
    }
  },
  watchThread: (threadId, listener) =>
    appServer.watchThread(threadId, tracedListener(trace, threadId, listener)),
});

/** The same listener; what it receives is recorded in the trace. */
export const tracedListener = (
  trace: Trace,
  threadId: string,
  listener: (signal: ThreadSignal) => void,
): ((signal: ThreadSignal) => void) =>
  trace.isRecording
    ? (signal) => {
        if (signal.kind === 'notification') {
          trace.record('rpc-told', { thread: threadId, method: signal.method, params: signal.params });
        } else if (signal.kind === 'tool-call') {
          trace.record('rpc-asked', { thread: threadId, params: signal.params });
        } else trace.record('rpc-told', { thread: threadId, method: '(closed)' });
        listener(signal);
      }
    : listener;

/** A call that was made before its turn was known, and its result. */
export interface EarlierCall {
  readonly method: string;
  readonly params: object;
  readonly result: object;
}

/** Records earlier calls as if they had been made now. */
export const recordEarlier = (trace: Trace, calls: readonly EarlierCall[]): void => {
  for (const { method, params, result } of calls) {
    const call = trace.next();
    trace.record('rpc-sent', { call, method, params, isSpare: true });
    trace.record('rpc-answered', { call, method, result });
  }
};

const described = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  return error instanceof RpcError
    ? { name, message, code: error.code, data: error.data }
    : { name, message };
};
