/** A statement about OpenAI's stateful API, and what this server does. */
export interface StateRow {
  readonly openai: string;
  /** `more`: the same, and something that OpenAI does not do. */
  readonly ours: 'same' | 'more' | 'differs' | 'not';
  /** What differs. */
  readonly how?: string;
  /** They prove it, by file: exact titles. `test/architecture/state-matrix.test.ts` checks that they exist. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
}

export interface StateArea {
  readonly title: string;
  readonly rows: readonly StateRow[];
}
