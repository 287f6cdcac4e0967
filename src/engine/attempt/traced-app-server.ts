import type { Trace } from '../../canonical/context/trace.ts';
import type { AppServer } from '../../codex/app-server.ts';
import type { ParamsOf } from '../../codex/protocol/methods.ts';
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
    appServer.watchThread(threadId, (signal) => {
      if (signal.kind === 'notification') {
        trace.record('rpc-told', { thread: threadId, method: signal.method, params: signal.params });
      } else if (signal.kind === 'tool-call') {
        trace.record('rpc-asked', { thread: threadId, params: signal.params });
      } else trace.record('rpc-told', { thread: threadId, method: '(closed)' });
      listener(signal);
    }),
});

/** Records a pre-started thread as if it had been started now. */
export const recordPreStarted = (trace: Trace, id: string, start: ParamsOf<'thread/start'>): void => {
  const call = trace.next();
  trace.record('rpc-sent', { call, method: 'thread/start', params: start, isSpare: true });
  trace.record('rpc-answered', { call, method: 'thread/start', result: { thread: { id } } });
};

const described = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  return error instanceof RpcError
    ? { name, message, code: error.code, data: error.data }
    : { name, message };
};
