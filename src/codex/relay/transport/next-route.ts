import type { SendRoute, TransportName } from './model-transport.ts';
import { LostSocketError, type LossReason } from './websocket/lost-socket.ts';

/** Why a request is sent again. */
export type ResendReason = LossReason | 'no-connection' | 'no-first-event' | 'overloaded' | 'server-error';

/** How a request is sent again: once on a fresh socket, then by POST on a fresh connection. */
export const nextRoute = (last: SendRoute, used: TransportName, error: unknown): SendRoute => {
  const needsPost = used === 'http' || last.isFresh || (error instanceof LostSocketError && error.needsPost);
  return { transport: needsPost ? 'http' : 'any', isFresh: true };
};
