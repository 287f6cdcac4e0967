import { failure, failureOf, GatewayError, type Failure } from '../canonical/failure.ts';
import { ConnectionClosed, RpcError } from '../codex/rpc/errors.ts';
import { withoutInternals } from '../codex/translate/failures.ts';

const INVALID_REQUEST = -32_600;
const OVERLOADED = -32_001;

/** What a client is told when the app-server refused a call or went away. */
export const rpcFailure = (error: unknown): Failure => {
  if (error instanceof GatewayError) return error.failure;
  if (error instanceof ConnectionClosed) return failure('worker_lost');
  if (!(error instanceof RpcError)) return failureOf(error);
  if (error.code === INVALID_REQUEST)
    return failure('invalid_prompt', { message: withoutInternals(error.message) });
  if (error.code === OVERLOADED) return failure('worker_unavailable', { retryAfterSeconds: 1 });
  return failure('server_error');
};
