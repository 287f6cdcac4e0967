/**
 * What pure code must not reach for by itself: time and chance. They are handed in, so that a
 * translation of the same input is the same output, and tests can say what "now" is.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export interface IdSource {
  /** A fresh id such as `msg_6f1c…`: the prefix says what it names, the rest cannot be guessed. */
  mint(prefix: string): string;
}

export interface Ambient {
  readonly clock: Clock;
  readonly ids: IdSource;
}
