interface Closable {
  close?(): Promise<void> | void;
}

/** What a start has opened. It is closed in reverse, also if the start fails. */
export class OpenParts {
  readonly #parts: (readonly [string, Closable])[] = [];
  readonly #onError: (error: unknown, name: string) => void;

  /** `onError` gets what a `close` throws; the other parts are closed nevertheless. */
  constructor(onError: (error: unknown, name: string) => void) {
    this.#onError = onError;
  }

  add<Part extends Closable>(name: string, part: Part): Part {
    this.#parts.push([name, part]);
    return part;
  }

  /** Closes each part once. */
  async close(): Promise<void> {
    for (let last = this.#parts.pop(); last !== undefined; last = this.#parts.pop()) {
      const [name, part] = last;
      try {
        await part.close?.();
      } catch (error) {
        this.#onError(error, name);
      }
    }
  }
}
