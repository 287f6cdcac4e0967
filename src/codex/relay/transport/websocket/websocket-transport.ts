import type { Clock } from '../../../../kit/ambient.ts';
import type { Headers } from '../../../end-to-end-headers.ts';
import type { ModelTransport, TransportAnswer, TransportRequest } from '../model-transport.ts';
import { SocketAnswer } from './socket-answer.ts';
import type { BackendSocket } from './backend-socket.ts';
import { buildFrame } from './frame.ts';
import type { NoSocket, SocketPool } from './pool.ts';
import { frameMetadata, upgradeHeaders } from './upgrade-headers.ts';

/** Why a request was posted though a WebSocket was wanted. */
export type FallbackReason = NoSocket | 'too-large' | 'resend' | 'signed-request';

export interface WebSocketTransportOptions {
  /** `websocket`: a request fails if there is no socket. */
  readonly mode: 'auto' | 'websocket';
  readonly http: ModelTransport;
  readonly pool: SocketPool;
  readonly clock: Clock;
  readonly onFallback: (reason: FallbackReason) => void;
}

/** The backend closes a socket at a message of 16 MiB. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024 - 1024;

/** Sends the model requests of turns over a WebSocket, and posts what it cannot. Other requests are posted. */
export const webSocketTransport = ({
  mode,
  http,
  pool,
  clock,
  onFallback,
}: WebSocketTransportOptions): ModelTransport => {
  /** Messages of this size were rejected before. */
  let tooLarge = MAX_FRAME_BYTES;

  const post = (request: TransportRequest, reason: FallbackReason): Promise<TransportAnswer> => {
    onFallback(reason);
    return http.send(request);
  };

  const answerOn = (socket: BackendSocket, { signal, onHeard }: TransportRequest): SocketAnswer =>
    new SocketAnswer(socket, {
      signal,
      onHeard,
      nowMs: clock.now(),
      onRejected: () => pool.rejected(),
      onOver: (isReusable) => pool.release(socket, isReusable),
      onTooLarge: (bytes) => {
        tooLarge = Math.min(tooLarge, bytes);
      },
    });

  return {
    async send(request) {
      const { url, headers, body, isTurn, route, signal } = request;
      if (!isTurn || body === null) return http.send(request);
      if (isSigned(headers)) return post(request, 'signed-request');
      if (route.transport === 'http' && mode === 'auto') return post(request, 'resend');
      const frame = await buildFrame(body.bytes, frameMetadata(headers, clock.now()), signal);
      if (frame.bytes >= tooLarge) return post(request, 'too-large');
      const target = { url, headers: upgradeHeaders(headers) };
      const insists = mode === 'websocket';
      const lent = await pool.lend(target, { isFresh: route.isFresh, insists, signal });
      if (lent.socket === null) {
        signal.throwIfAborted();
        if (insists) throw lent.error ?? new NoSocketError(lent.why);
        return post(request, lent.why);
      }
      request.onSending('websocket');
      body.release();
      // Not awaited here: this function would keep the frame until the answer begins.
      return answerOn(lent.socket, request).send(frame);
    },
    warm(url, headers) {
      if (!isSigned(headers)) pool.warm({ url, headers: upgradeHeaders(headers) });
    },
    close() {
      pool.close();
      http.close();
    },
  };
};

/** An agent signs each request, with its time: a socket that is opened ahead would have an old signature. */
const isSigned = ({ authorization }: Headers): boolean =>
  typeof authorization === 'string' && authorization.startsWith('AgentAssertion ');

/** No socket was opened, and nothing else is allowed. */
class NoSocketError extends Error {
  readonly code: string;
  constructor(why: NoSocket) {
    super(`there is no WebSocket for this request: ${why}`);
    this.code = `WS_${why}`;
  }
}
