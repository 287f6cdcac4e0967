import type { Conventions } from './settings.ts';

/** A model request that has ended, as the conventions for generative AI see it. */
export interface Inference {
  readonly operation: string;
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly address: string | null;
  readonly port: number | null;
  /** Null: it succeeded. */
  readonly error: string | null;
  readonly seconds: number;
  readonly firstDeltaSeconds: number | null;
  /** From the arrival of the client's request. Null: none, or not the first. */
  readonly firstTokenSeconds: number | null;
  /** Null: not reported. */
  readonly tokens: Tokens | null;
}

export interface Tokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly reasoningOutput: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

interface AttributeRow {
  /** The name by each set of conventions; null: it has none. */
  readonly names: Readonly<Record<Conventions, string | null>>;
  readonly valueOf: (inference: Inference) => string | number | boolean | null;
  /** Whether metrics have it, too. */
  readonly isLabel: boolean;
}

export interface MetricRow {
  readonly conventions: readonly Conventions[];
  readonly name: string;
  readonly kind: 'histogram' | 'counter';
  readonly unit: string;
  readonly description: string;
  readonly boundaries?: readonly number[];
  /** Null: nothing is recorded for this request. */
  readonly valueOf: (inference: Inference) => number | null;
  readonly labels?: Attributes;
}

const both = (name: string): AttributeRow['names'] => ({ current: name, latest: name });
const latest = (name: string): AttributeRow['names'] => ({ current: null, latest: name });
/** It names the form of the API, as the conventions say, so it is the same for every backend. */
const PROVIDER = 'openai';

/** The attributes of a model request. `gen_ai.system` is the old name of the provider: most dashboards have it. */
const ATTRIBUTES: readonly AttributeRow[] = [
  { names: both('gen_ai.operation.name'), valueOf: ({ operation }) => operation, isLabel: true },
  { names: both('gen_ai.provider.name'), valueOf: () => PROVIDER, isLabel: true },
  { names: { current: 'gen_ai.system', latest: null }, valueOf: () => PROVIDER, isLabel: true },
  { names: both('gen_ai.request.model'), valueOf: ({ model }) => model, isLabel: true },
  { names: both('gen_ai.response.model'), valueOf: ({ servedModel }) => servedModel, isLabel: true },
  { names: both('server.address'), valueOf: ({ address }) => address, isLabel: true },
  { names: both('server.port'), valueOf: ({ port }) => port, isLabel: true },
  { names: both('error.type'), valueOf: ({ error }) => error, isLabel: true },
  {
    names: both('gen_ai.usage.input_tokens'),
    valueOf: ({ tokens }) => tokens?.input ?? null,
    isLabel: false,
  },
  {
    names: both('gen_ai.usage.output_tokens'),
    valueOf: ({ tokens }) => tokens?.output ?? null,
    isLabel: false,
  },
  {
    names: latest('gen_ai.usage.cache_read.input_tokens'),
    valueOf: ({ tokens }) => tokens?.cachedInput ?? null,
    isLabel: false,
  },
  {
    names: latest('gen_ai.usage.reasoning.output_tokens'),
    valueOf: ({ tokens }) => tokens?.reasoningOutput ?? null,
    isLabel: false,
  },
  {
    names: latest('gen_ai.response.time_to_first_chunk'),
    valueOf: ({ firstDeltaSeconds }) => firstDeltaSeconds,
    isLabel: false,
  },
  // The relay reads every answer as a stream.
  { names: latest('gen_ai.request.stream'), valueOf: () => true, isLabel: false },
];

/** As the conventions advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const TOKEN = '{token}';
/** Answers do not say which tokens were of images. */
const MODALITY = { 'gen_ai.token.modality': 'unknown' };

/** A counter of the newest conventions: it also counts a request without usage, as 0. */
const counted = (name: string, description: string, valueOf: (tokens: Tokens) => number): MetricRow => ({
  conventions: ['latest'],
  name: `gen_ai.client.inference.usage.${name}`,
  kind: 'counter',
  unit: TOKEN,
  description,
  valueOf: ({ tokens }) => (tokens === null ? 0 : valueOf(tokens)),
  labels: MODALITY,
});

const tokens = (
  row: Pick<MetricRow, 'conventions' | 'name' | 'description' | 'labels'>,
  valueOf: (tokens: Tokens) => number,
): MetricRow => ({
  ...row,
  kind: 'histogram',
  unit: TOKEN,
  boundaries: TOKENS,
  valueOf: ({ tokens: used }) => (used === null ? null : valueOf(used)),
});

const USAGE = {
  conventions: ['current'],
  name: 'gen_ai.client.token.usage',
  description: 'Tokens of a model request.',
} as const;

/** The metrics of model requests. */
export const METRICS: readonly MetricRow[] = [
  {
    conventions: ['current'],
    name: 'gen_ai.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    description: 'Duration of a model request.',
    boundaries: SECONDS,
    valueOf: ({ seconds }) => seconds,
  },
  tokens({ ...USAGE, labels: { 'gen_ai.token.type': 'input' } }, ({ input }) => input),
  tokens({ ...USAGE, labels: { 'gen_ai.token.type': 'output' } }, ({ output }) => output),
  {
    conventions: ['current', 'latest'],
    name: 'gen_ai.server.time_to_first_token',
    kind: 'histogram',
    unit: 's',
    description: 'Time from the arrival of a request to the first output of the model.',
    boundaries: FIRST_TOKEN,
    valueOf: ({ firstTokenSeconds }) => firstTokenSeconds,
  },
  {
    conventions: ['latest'],
    name: 'gen_ai.client.inference.duration',
    kind: 'histogram',
    unit: 's',
    description: 'Duration of a model request.',
    boundaries: SECONDS,
    valueOf: ({ seconds }) => seconds,
  },
  {
    conventions: ['latest'],
    name: 'gen_ai.client.inference.time_to_first_chunk',
    kind: 'histogram',
    unit: 's',
    description: 'Time from a model request to its first output.',
    boundaries: SECONDS,
    valueOf: ({ firstDeltaSeconds }) => firstDeltaSeconds,
  },
  counted('input_tokens', 'Input tokens, with the cached ones.', ({ input }) => input),
  counted('output_tokens', 'Output tokens, with those of reasoning.', ({ output }) => output),
  counted('cache_read.input_tokens', 'Input tokens read from a cache.', ({ cachedInput }) => cachedInput),
  counted('reasoning.output_tokens', 'Output tokens of reasoning.', ({ reasoningOutput }) => reasoningOutput),
  tokens(
    {
      conventions: ['latest'],
      name: 'gen_ai.client.inference.operation.input_tokens',
      description: 'Input tokens of one request.',
    },
    ({ input }) => input,
  ),
  tokens(
    {
      conventions: ['latest'],
      name: 'gen_ai.client.inference.operation.output_tokens',
      description: 'Output tokens of one request.',
    },
    ({ output }) => output,
  ),
];

/** The attributes of a model request; for metrics only those with few values. */
export const attributesOf = (
  inference: Inference,
  conventions: Conventions,
  use: 'span' | 'metric',
): Attributes =>
  Object.fromEntries(
    ATTRIBUTES.flatMap(({ names, valueOf, isLabel }) => {
      const name = names[conventions];
      const value = name === null || (use === 'metric' && !isLabel) ? null : valueOf(inference);
      return name === null || value === null ? [] : [[name, value]];
    }),
  );
