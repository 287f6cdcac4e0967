import { failure, failureOf, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { resourceFailure, isResourceError } from '../../canonical/failure/resources.ts';
import { classify, NO_DETAILS } from '../../codex/failures/classify.ts';
import {
  ConnectionClosed,
  isConfigError,
  RequestTimeout,
  RPC_CODES,
  RpcError,
} from '../../codex/rpc/errors.ts';
import { PROVIDER_ID } from '../../codex/protocol/provider.ts';
import { isJsonObject } from '../../kit/json/json.ts';

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
