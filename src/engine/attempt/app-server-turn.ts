import type { AppServer, ThreadSignal } from '../../codex/app-server.ts';
import type { ParamsOf } from '../../codex/protocol/methods.ts';
import type { Trace } from '../../canonical/context/trace.ts';
import {
  RpcError,
  ConnectionClosed,
  isConfigError,
  RequestTimeout,
  RPC_CODES,
} from '../../codex/rpc/errors.ts';
import {
  failure,
  failureOf,
  GatewayError,
  resourceFailure,
  isResourceError,
  type Failure,
} from '../../canonical/failure/failure.ts';
import { classify, NO_DETAILS } from '../../codex/failures/classify.ts';
import { PROVIDER_ID } from '../../codex/protocol/provider.ts';
import { isJsonObject } from '../../kit/json/json.ts';

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
  watchThread: (threadId, listener, answer) =>
    appServer.watchThread(threadId, tracedListener(trace, threadId, listener), answer),
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

const UNANSWERED = { message: 'The app-server did not answer in time.', retryAfterSeconds: 1 };

const CANNOT_LOAD =
  'The codex of this server cannot load the configuration that this server writes. Its operator has to run the command `doctor`, and to install another version of codex.';

/** The failure for the client when the app-server rejected a call or exited. */
export const rpcFailure = (error: unknown): Failure => {
  if (error instanceof GatewayError) return error.failure;
  if (error instanceof ConnectionClosed) return failure('worker_lost');
  if (error instanceof RequestTimeout) return failure('worker_unavailable', UNANSWERED);
  if (!(error instanceof RpcError)) return failureOf(error);
  // The RPC codes of these errors would blame the request.
  if (isJsonObject(error.data) && error.data['reason'] === 'cloudConfigBundle')
    return failure('account_unavailable');
  if (isResourceError(error.message)) return resourceFailure();
  if (hasLostConfig(error)) return failure('worker_lost');
  if (isConfigError(error)) return failure('codex_incompatible', { message: CANNOT_LOAD });
  if (error.code === RPC_CODES.invalidRequest || error.code === RPC_CODES.invalidParams)
    return classify({ ...NO_DETAILS, status: 400, message: error.message });
  if (error.code === RPC_CODES.overloaded) return failure('worker_unavailable', { retryAfterSeconds: 1 });
  return failure('server_error');
};

/** Whether the configuration of the worker is gone; the worker is replaced. */
const hasLostConfig = ({ data, message }: RpcError): boolean =>
  (isJsonObject(data) && data['type'] === 'modelProviderMismatch') ||
  message.includes(`Model provider \`${PROVIDER_ID}\` not found`);

/** The ids for interrupting a turn. */
export interface RunningTurn {
  readonly threadId: string;
  readonly turnId: string;
}

/** A review runs an inner turn, and only that one can be interrupted; an empty id means any turn. */
const ANY_TURN = '';

export interface StartedTurn {
  /** Names the turn in notifications. */
  readonly turnId: string;
  readonly running: RunningTurn;
}

/** Starts the turn of a thread that has the conversation. */
export const startTurn = async (
  appServer: AppServer,
  params: ParamsOf<'turn/start'>,
): Promise<StartedTurn> => {
  const { turn } = await appServer.request('turn/start', params);
  return { turnId: turn.id, running: { threadId: params.threadId, turnId: turn.id } };
};

export const startReview = async (
  appServer: AppServer,
  params: ParamsOf<'review/start'>,
): Promise<StartedTurn> => {
  const { turn } = await appServer.request('review/start', params);
  return { turnId: turn.id, running: { threadId: params.threadId, turnId: ANY_TURN } };
};

/**
 * Interrupts a running turn and closes its thread: a turn that waits for a tool call would keep its thread. Does not
 * wait for the answer to the interrupt, which may never come.
 */
export const closeTurn = async (
  appServer: AppServer,
  running: RunningTurn | null,
  threadId: string | null,
): Promise<void> => {
  if (running !== null) void appServer.request('turn/interrupt', running).catch(() => {});
  if (threadId !== null) await appServer.request('thread/unsubscribe', { threadId }).catch(() => {});
};
