import { createHash } from 'node:crypto';

import { randomOf, type Random } from './random.ts';

/** One request and what happens to it; drawn only from the seed and its number. */
export interface Plan {
  /** Part of the prompt; the right answer follows from it. */
  readonly nonce: string;
  readonly api: 'responses' | 'chat';
  readonly stream: boolean;
  /**
   * `called`: the model calls two tools; `continued`: the history has a call and its output, and the answer
   * is text.
   */
  readonly tools: 'none' | 'called' | 'continued';
  readonly client: ClientManner;
  readonly model: ModelManner;
  readonly size: number;
}

export type ClientManner =
  | { readonly kind: 'reads' }
  | { readonly kind: 'reads slowly'; readonly pauseMs: number }
  | { readonly kind: 'leaves'; readonly afterMs: number }
  | { readonly kind: 'sends half' }
  | { readonly kind: 'sends too much' }
  | { readonly kind: 'sends nonsense'; readonly body: string };

export type ModelManner =
  | { readonly kind: 'answers'; readonly pieces: number; readonly pauseMs: number }
  /** `at`: the fraction of its bytes that is sent; `times`: how many of its model requests are affected. */
  | { readonly kind: 'cuts' | 'ends early' | 'stalls'; readonly at: number; readonly times: number }
  | { readonly kind: 'refuses'; readonly status: number; readonly times: number };

export const NONCE = /nonce-[0-9a-f]{16}/g;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The only right text: every part of it contains this nonce, and its end has its length and hash. */
export const rightText = ({ nonce, size }: Pick<Plan, 'nonce' | 'size'>): string => {
  const words = Array.from({ length: size }, (_, index) =>
    digest(`${nonce} ${index}`).slice(0, 4 + (index % 7)),
  );
  const body = `${nonce} ${words.join(' ')} – ü 😀`;
  return `${body} length ${body.length} hash ${digest(body)}`;
};

/** The arguments of a plan's calls, in order. */
export const rightCalls = (plan: Plan): readonly string[] =>
  plan.tools === 'called' ? [0, 1].map((index) => JSON.stringify({ index, text: rightText(plan) })) : [];

const NONSENSE = [
  '{"model":"gpt-5.5","input":',
  '{"model":7,"input":"x","messages":"x"}',
  '[]',
  '',
  '\u0000\u0001\u0002',
  `{"model":"gpt-5.5","input":${'['.repeat(5_000)}`,
  '{"model":"gpt-5.5","input":[{"type":"function_call_output"}],"messages":[{"role":"tool"}]}',
] as const;

const clientManner = (random: Random): ClientManner => {
  const chance = random.next();
  if (chance < 0.62) return { kind: 'reads' };
  if (chance < 0.72) return { kind: 'reads slowly', pauseMs: random.between(20, 300) };
  if (chance < 0.88) return { kind: 'leaves', afterMs: random.between(0, 1_500) };
  if (chance < 0.91) return { kind: 'sends half' };
  if (chance < 0.95) return { kind: 'sends too much' };
  return { kind: 'sends nonsense', body: random.pick(NONSENSE) };
};

const ALWAYS = Number.MAX_SAFE_INTEGER;

const modelManner = (random: Random): ModelManner => {
  const chance = random.next();
  const at = random.next();
  const times = random.pick([1, ALWAYS]);
  if (chance < 0.7) return { kind: 'answers', pieces: random.between(1, 20), pauseMs: random.between(0, 40) };
  if (chance < 0.8) return { kind: 'cuts', at, times };
  if (chance < 0.88) return { kind: 'ends early', at, times };
  if (chance < 0.93) return { kind: 'stalls', at, times };
  return { kind: 'refuses', status: random.pick([400, 429, 500, 503]), times };
};

export const planOf = (seed: number, index: number): Plan => {
  const random = randomOf(seed, `request ${index}`);
  const client = clientManner(random);
  return {
    nonce: `nonce-${digest(`${seed} ${index}`).slice(0, 16)}`,
    api: random.pick(['responses', 'chat']),
    stream: random.next() < 0.6,
    tools: random.pick(['none', 'none', 'called', 'continued']),
    client,
    model: modelManner(random),
    size: client.kind === 'reads slowly' ? random.between(5_000, 40_000) : random.between(1, 400),
  };
};

/** Whether the model never sends the whole answer. */
export const isNeverWhole = ({ model }: Plan): boolean => 'times' in model && model.times === ALWAYS;
