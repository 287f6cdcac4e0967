import { randomOf } from './random.ts';

/** One round of a conversation: what the model does in it. The last one is only text. */
export interface Round {
  /** 0: this is the last round. */
  readonly calls: number;
  readonly thinks: boolean;
  readonly says: boolean;
  /** Pause between two pieces of its answer. */
  readonly pauseMs: number;
}

/** A tool conversation and its client; drawn only from the seed and its number. */
export interface Conversation {
  readonly name: string;
  readonly api: 'responses' | 'chat';
  readonly stream: boolean;
  /** Whether the client sends reasoning back itself. */
  readonly keepsReasoning: boolean;
  readonly rounds: readonly Round[];
  /** For each round, who adds a message to the outputs. */
  readonly asides: readonly ('user' | 'developer' | null)[];
  /** Outputs in reverse order. */
  readonly reversed: boolean;
  readonly size: number;
}

const MAX_CALL_ROUNDS = 5;

export const conversationOf = (seed: number, index: number): Conversation => {
  const random = randomOf(seed, `conversation ${index}`);
  const api = random.pick<Conversation['api']>(['responses', 'chat']);
  const callRounds = random.between(1, MAX_CALL_ROUNDS);
  const rounds = Array.from({ length: callRounds + 1 }, (_, round): Round => ({
    calls: round === callRounds ? 0 : random.between(1, 3),
    thinks: random.next() < 0.7,
    says: round === callRounds || random.next() < 0.4,
    pauseMs: random.between(0, 12),
  }));
  return {
    name: `talk-${seed}-${index}-end`,
    api,
    stream: random.next() < 0.5,
    keepsReasoning: api === 'responses' && random.next() < 0.3,
    rounds,
    asides: rounds.map(() => random.pick([null, null, 'user', 'developer'])),
    reversed: random.next() < 0.5,
    size: random.between(1, 2_000),
  };
};

/** The text of a round, and the output of a call in it. */
export const wordsOf = ({ name }: Conversation, round: number): string => `Round ${round} of ${name}.`;
export const outputOf = ({ name, size }: Conversation, callId: string): string =>
  `${name} ${callId} ${'x'.repeat(size)}`;
