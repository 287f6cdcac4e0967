import { gatewayError } from '../canonical/failure/failure.ts';
import type { Frame } from './api.ts';

/** The frames of a run in their order, for any number of readers. Its owner sets the limit. */
export class FrameLog {
  readonly #maxBytes: number;
  #frames: Frame[] | null = [];
  #bytes = 0;
  #state: { readonly kind: 'open' | 'ended' } | { readonly kind: 'failed'; readonly error: unknown } = {
    kind: 'open',
  };
  #changed = Promise.withResolvers<void>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Beyond the limit all frames are dropped: half an answer is of no use to a reader. */
  add(frame: Frame): void {
    if (this.#frames === null) return;
    this.#bytes += JSON.stringify(frame).length;
    if (this.#bytes > this.#maxBytes) this.#frames = null;
    else this.#frames.push(frame);
    this.#wake();
  }

  end(): void {
    this.#state = { kind: 'ended' };
    this.#wake();
  }

  /** Readers get the frames so far, and then this error. */
  fail(error: unknown): void {
    this.#state = { kind: 'failed', error };
    this.#wake();
  }

  /** The frames from this number on, also those that are still to come. */
  async *read(from: number): AsyncGenerator<Frame> {
    for (let at = from; ; at += 1) {
      while (this.#frames !== null && at >= this.#frames.length && this.#state.kind === 'open') {
        await this.#changed.promise;
      }
      if (this.#frames === null) throw notKept();
      const frame = this.#frames[at];
      if (frame !== undefined) yield frame;
      else if (this.#state.kind === 'failed') throw this.#state.error;
      else return;
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

const notKept = () =>
  gatewayError('response_not_found', {
    message: 'The events of this response are too long to be kept. Retrieve the response itself instead.',
  });
