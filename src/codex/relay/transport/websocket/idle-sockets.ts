import type { Clock } from '../../../../kit/ambient.ts';
import { isKeepalive } from '../../answer/read-event.ts';
import type { BackendSocket } from './backend-socket.ts';
import { frameType, isInternal } from './frame.ts';

export interface IdleSocketsOptions {
  readonly clock: Clock;
  /** A socket has closed, or did something unexpected. */
  readonly onGone: (socket: BackendSocket) => void;
}

const MAX_IDLE = 16;
/** The backend ends a socket after an hour. */
const MAX_AGE_MS = 55 * 60_000;
/** Idle sockets beyond one are closed after this. */
const SURPLUS_MS = 5 * 60_000;

export const isOld = ({ openedAt }: BackendSocket, nowMs: number): boolean => nowMs - openedAt >= MAX_AGE_MS;

/** The sockets that wait for a request: last in, first out, so that a surplus is not used and expires. */
export class IdleSockets {
  readonly #options: IdleSocketsOptions;
  readonly #sockets: { readonly socket: BackendSocket; readonly since: number }[] = [];

  constructor(options: IdleSocketsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#sockets.length;
  }

  take(): BackendSocket | null {
    for (let last = this.#sockets.pop(); last !== undefined; last = this.#sockets.pop()) {
      if (last.socket.isOpen && !isOld(last.socket, this.#options.clock.now())) return last.socket;
      last.socket.close();
    }
    return null;
  }

  /** Keeps a socket, or closes it if there are enough. */
  add(socket: BackendSocket): void {
    if (this.#sockets.length >= MAX_IDLE) {
      socket.close();
      return;
    }
    const gone = (): void => {
      if (this.#remove(socket)) this.#options.onGone(socket);
    };
    socket.listen({
      onPing() {},
      onClose: gone,
      onText(data) {
        const type = frameType(data);
        // An answer's last messages may follow its end.
        if (isInternal(type) || isKeepalive(type)) return;
        socket.close();
        gone();
      },
    });
    socket.hasWaited = true;
    const idle = { socket, since: this.#options.clock.now() };
    // A socket that has served an answer is known to work.
    if (socket.uses === 0) this.#sockets.unshift(idle);
    else this.#sockets.push(idle);
  }

  /** Closes what is not needed and checks the rest. `isQuiet`: nothing is needed. */
  upkeep(isQuiet: boolean): void {
    const now = this.#options.clock.now();
    // Those that would be used last come first.
    for (const { socket, since } of this.#sockets.slice()) {
      const isSurplus = isQuiet || (this.#sockets.length > 1 && now - since >= SURPLUS_MS);
      if (isSurplus || isOld(socket, now)) {
        this.#remove(socket);
        socket.close();
      } else socket.ping();
    }
  }

  close(): void {
    for (const { socket } of this.#sockets.splice(0)) socket.close();
  }

  #remove(socket: BackendSocket): boolean {
    const at = this.#sockets.findIndex((one) => one.socket === socket);
    if (at !== -1) this.#sockets.splice(at, 1);
    return at !== -1;
  }
}
