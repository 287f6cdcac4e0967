import { randomOf } from './random.ts';

/** One round of a conversation: what the model does in it. The last one only says something. */
export interface Round {
  /** None: this is the last round. */
  readonly calls: number;
  readonly thinks: boolean;
  readonly says: boolean;
  /** Between two pieces of its answer. */
  readonly pauseMs: number;
}

/** A tool conversation and who leads it; drawn from the seed and its number alone. */
export interface Conversation {
  readonly name: string;
  readonly api: 'responses' | 'chat';
  readonly stream: boolean;
  /** Whether the client sends reasoning back itself. */
  readonly keepsReasoning: boolean;
  readonly rounds: readonly Round[];
  /** Of which round something is said beside the outputs, and by whom. */
  readonly asides: readonly ('user' | 'developer' | null)[];
  /** Outputs in the other order. */
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

/** The words of a round, and what a call of it gives back. */
export const wordsOf = ({ name }: Conversation, round: number): string => `Round ${round} of ${name}.`;
export const outputOf = ({ name, size }: Conversation, callId: string): string =>
  `${name} ${callId} ${'x'.repeat(size)}`;
