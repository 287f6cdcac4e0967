/** Time and randomness for pure code. Passed in, so that the same input gives the same output. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export interface IdSource {
  /** A new id such as `msg_6f1c…`: the prefix names its kind, the rest is random. */
  mint(prefix: string): string;
}

export interface Ambient {
  readonly clock: Clock;
  readonly ids: IdSource;
}

const systemClock: Clock = { now: () => Date.now() };

/** 122 random bits. Node caches random bytes for UUIDs, so an id costs no system call. */
const systemIds: IdSource = {
  mint: (prefix) => `${prefix}_${crypto.randomUUID().replaceAll('-', '')}`,
};

export const systemAmbient: Ambient = { clock: systemClock, ids: systemIds };
