import { failure, failureOf, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { resourceFailure, isResourceError } from '../../canonical/failure/resources.ts';
import { classify, NO_DETAILS } from '../../codex/failures/classify.ts';
import { ConnectionClosed, RequestTimeout, RPC_CODES, RpcError } from '../../codex/rpc/errors.ts';
import { PROVIDER_ID } from '../../codex/protocol/provider.ts';
import { isJsonObject } from '../../kit/json/json.ts';

const UNANSWERED = { message: 'The app-server did not answer in time.', retryAfterSeconds: 1 };

/** What a client is told when the app-server refused a call or went away. */
export const rpcFailure = (error: unknown): Failure => {
  if (error instanceof GatewayError) return error.failure;
  if (error instanceof ConnectionClosed) return failure('worker_lost');
  // It was waited for long enough. The worker that left it unanswered is replaced.
  if (error instanceof RequestTimeout) return failure('worker_unavailable', UNANSWERED);
  if (!(error instanceof RpcError)) return failureOf(error);
  // The code would blame the request; but no thread can be started for this account.
  if (isJsonObject(error.data) && error.data['reason'] === 'cloudConfigBundle')
    return failure('account_unavailable');
  // The code would blame the request.
  if (isResourceError(error.message)) return resourceFailure();
  if (isHomeless(error)) return failure('worker_lost');
  if (error.code === RPC_CODES.invalidRequest || error.code === RPC_CODES.invalidParams)
    return classify({ ...NO_DETAILS, status: 400, message: error.message });
  if (error.code === RPC_CODES.overloaded) return failure('worker_unavailable', { retryAfterSeconds: 1 });
  return failure('server_error');
};

/** Its configuration is gone. No fault of the request; the worker is about to be replaced. */
const isHomeless = ({ data, message }: RpcError): boolean =>
  (isJsonObject(data) && data['type'] === 'modelProviderMismatch') ||
  message.includes(`Model provider \`${PROVIDER_ID}\` not found`);
