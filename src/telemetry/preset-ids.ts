import type { IdGenerator } from '@opentelemetry/sdk-trace';

/**
 * Random ids, except for a span whose id was sent to others before the span was made. Spans are made at the end of a
 * request, and a model request names its span when it is sent.
 */
export class PresetIds implements IdGenerator {
  readonly #random: IdGenerator;
  #preset: string | null = null;

  constructor(random: IdGenerator) {
    this.#random = random;
  }

  generateTraceId(): string {
    return this.#random.generateTraceId();
  }

  generateSpanId(): string {
    const id = this.#preset ?? this.#random.generateSpanId();
    this.#preset = null;
    return id;
  }

  /** The spans of this call get the id; absent: a random one. */
  preset<Made>(id: string | undefined, make: () => Made): Made {
    this.#preset = id ?? null;
    try {
      return make();
    } finally {
      this.#preset = null;
    }
  }
}
