import { gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import type { AppServer } from '../../codex/app-server.ts';
import { RPC_CODES, RpcError } from '../../codex/rpc/errors.ts';
import { rpcFailure } from './rpc-failure.ts';

/** Speaks to a turn. Null: it does not run, or its model cannot hear anybody now. */
export const steerTurn = async (
  appServer: AppServer,
  running: { readonly threadId: string; readonly turnId: string } | null,
  texts: readonly string[],
): Promise<void> => {
  if (running === null) throw gatewayError('response_not_steerable');
  const { threadId, turnId: expectedTurnId } = running;
  const input = texts.map((text) => ({ type: 'text' as const, text, text_elements: [] }));
  try {
    await appServer.request('turn/steer', { threadId, expectedTurnId, input });
  } catch (error) {
    // It has ended meanwhile.
    if (error instanceof RpcError && error.code === RPC_CODES.invalidRequest)
      throw gatewayError('response_not_steerable');
    throw new GatewayError(rpcFailure(error), { cause: error });
  }
};
