import { gatewayError } from '../canonical/failure.ts';
import type { Steer } from '../canonical/turn-request.ts';

/** The streams that run now, by the id that their clients know: who started one may speak to its model. */
export class RunningResponses {
  readonly #byId = new Map<string, { readonly caller: string; steer: Steer | null }>();

  /** Until `end` is called, which the owner of the stream must do. */
  open(id: string, caller: string): { onSteerable(steer: Steer): void; end(): void } {
    const running: { readonly caller: string; steer: Steer | null } = { caller, steer: null };
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
    await running.steer(texts);
  }
}
