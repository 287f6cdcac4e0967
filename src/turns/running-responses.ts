import { gatewayError } from '../canonical/failure/failure.ts';
import type { ReservedPart, TurnSteering, SteerListener } from '../canonical/context/turn-context.ts';
import type { GatePass } from './turn-gate.ts';

/** So much can be said to one response: its conversation keeps it. */
const MAX_SAID_CHARS = 8 * 1024 * 1024;
/** What a call costs in addition to its text. */
const CALL_CHARS = 1024;

/** Input that the model has not read yet, and what was reserved for it. */
interface SteerInput {
  readonly texts: readonly string[];
  readonly part: ReservedPart;
}

/** A stream that runs now. */
class RunningResponse implements TurnSteering {
  readonly caller: string;
  #listener: SteerListener | null = null;
  #pass: Promise<GatePass> | null = null;
  #said: SteerInput[] = [];
  #saidChars = 0;

  constructor(caller: string) {
    this.caller = caller;
  }

  /** What the key may use is counted by this pass. */
  countBy(pass: Promise<GatePass>): void {
    this.#pass = pass;
  }

  listen(listener: SteerListener): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = null;
      for (const { part } of this.#said.splice(0)) part.giveBack();
    };
  }

  hasInput(): boolean {
    return this.#said.length > 0;
  }

  take(used: Parameters<TurnSteering['take']>[0]): readonly (readonly string[])[] {
    const said = this.#said.splice(0);
    // The model reads all of it at once.
    for (const [at, { part }] of said.entries()) {
      if (at === 0) part.begin(used);
      else part.giveBack();
    }
    return said.map(({ texts }) => texts);
  }

  async steer(texts: readonly string[], signal: AbortSignal): Promise<void> {
    const pass = await this.#pass;
    if (pass === null) throw gatewayError('response_not_steerable');
    this.#check();
    const chars = texts.reduce((sum, text) => sum + text.length, 0);
    this.#saidChars += chars + CALL_CHARS;
    if (this.#saidChars > MAX_SAID_CHARS) {
      throw gatewayError('response_not_steerable', {
        message: 'Too much steering input for this response.',
      });
    }
    const part = await pass.steer(chars, signal);
    try {
      this.#check();
    } catch (error) {
      part.giveBack();
      throw error;
    }
    this.#said.push({ texts, part });
    this.#listener?.onInput();
  }

  /** Throws if the model cannot be interrupted now. */
  #check(): void {
    const listener = this.#listener;
    const refusal = listener === null ? gatewayError('response_not_steerable') : listener.refusal();
    if (refusal !== null) throw refusal;
  }
}

/** The streams that run now, by the id that their clients know: who started one may speak to its model. */
export class RunningResponses {
  readonly #byId = new Map<string, RunningResponse>();

  /** Until `close`, which the owner of the stream must call. */
  open(id: string, caller: string): RunningResponse {
    const running = new RunningResponse(caller);
    this.#byId.set(id, running);
    return running;
  }

  close(id: string): void {
    this.#byId.delete(id);
  }

  /**
   * Interrupts the model with more input. It is one more model request of the key. Rejects with the refusal; another
   * caller's response is as unknown as one that never was.
   */
  async steer(
    id: string,
    {
      caller,
      texts,
      signal,
    }: { readonly caller: string; readonly texts: readonly string[]; readonly signal: AbortSignal },
  ): Promise<void> {
    const running = this.#byId.get(id);
    if (running === undefined || running.caller !== caller) throw gatewayError('response_not_found');
    await running.steer(texts, signal);
  }
}
