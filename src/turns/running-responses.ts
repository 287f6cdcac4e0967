import { gatewayError } from '../canonical/failure/failure.ts';
import type { Steer } from '../canonical/context/turn-context.ts';

/** So much can be said to one response: the app-server keeps what its model has not read yet. */
const MAX_SAID_CHARS = 8 * 1024 * 1024;
/** What a call costs in addition to its text. */
const CALL_CHARS = 1024;

interface Running {
  readonly caller: string;
  steer: Steer | null;
  saidChars: number;
}

/** The streams that run now, by the id that their clients know: who started one may speak to its model. */
export class RunningResponses {
  readonly #byId = new Map<string, Running>();

  /** Until `end` is called, which the owner of the stream must do. */
  open(id: string, caller: string): { onSteerable(steer: Steer): void; end(): void } {
    const running: Running = { caller, steer: null, saidChars: 0 };
    this.#byId.set(id, running);
    return {
      onSteerable(steer) {
        running.steer = steer;
      },
      end: () => void this.#byId.delete(id),
    };
  }

  /** Another caller's response is as unknown as one that never was. */
  async steer(id: string, caller: string, texts: readonly string[]): Promise<void> {
    const running = this.#byId.get(id);
    if (running === undefined || running.caller !== caller) throw gatewayError('response_not_found');
    if (running.steer === null) throw gatewayError('response_not_steerable');
    running.saidChars += texts.reduce((sum, text) => sum + text.length, CALL_CHARS);
    if (running.saidChars > MAX_SAID_CHARS) {
      throw gatewayError('response_not_steerable', {
        message: 'Too much steering input for this response.',
      });
    }
    await running.steer(texts);
  }
}
