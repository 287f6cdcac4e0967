import type { Meter } from '@opentelemetry/api';

import type { SpanFacts, TraceSpan } from '../../canonical/context/trace.ts';

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
  /** From the arrival of the client's request. Null: none, or not the first. */
  readonly firstTokenSeconds: number | null;
  /** Null: not reported. */
  readonly tokens: Tokens | null;
}

interface Tokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly reasoningOutput: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The model requests among the parts of a request. */
export const inferencesIn = (
  spans: readonly TraceSpan[],
  route: string,
): ReadonlyMap<TraceSpan, Inference> => {
  const found = new Map<TraceSpan, Inference>();
  let hasOutput = false;
  for (const span of spans) {
    if (span.name !== 'model-request') continue;
    const inference = inferenceOf(span, route, hasOutput);
    hasOutput ||= inference.firstTokenSeconds !== null;
    found.set(span, inference);
  }
  return found;
};

const inferenceOf = ({ startMs, endMs, facts }: TraceSpan, route: string, hasOutput: boolean): Inference => {
  const firstDeltaMs = numberIn(facts, 'firstDeltaMs');
  return {
    operation: route === COMPLETIONS ? 'text_completion' : 'chat',
    model: textIn(facts, 'model'),
    servedModel: textIn(facts, 'servedModel'),
    ...addressIn(textIn(facts, 'host')),
    error: textIn(facts, 'error') ?? textIn(facts, 'retry'),
    seconds: (endMs - startMs) / 1000,
    firstTokenSeconds: firstDeltaMs === null || hasOutput ? null : (startMs + firstDeltaMs) / 1000,
    tokens: tokensIn(facts),
  };
};

const COMPLETIONS = '/v1/completions';
const HTTPS_PORT = 443;

/** A backend without a port is taken for one with HTTPS. */
const addressIn = (host: string | null): Pick<Inference, 'address' | 'port'> => {
  const url = host === null || host === '' ? null : URL.parse(`https://${host}`);
  if (url === null) return { address: null, port: null };
  return { address: url.hostname, port: url.port === '' ? HTTPS_PORT : Number(url.port) };
};

const tokensIn = (facts: SpanFacts): Tokens | null => {
  const input = numberIn(facts, 'inputTokens');
  if (input === null) return null;
  return {
    input,
    cachedInput: numberIn(facts, 'cachedInputTokens') ?? 0,
    output: numberIn(facts, 'outputTokens') ?? 0,
    reasoningOutput: numberIn(facts, 'reasoningTokens') ?? 0,
  };
};

const textIn = (facts: SpanFacts, name: string): string | null => {
  const value = facts[name];
  return typeof value === 'string' ? value : null;
};

const numberIn = (facts: SpanFacts, name: string): number | null => {
  const value = facts[name];
  return typeof value === 'number' ? value : null;
};

/** It names the form of the API, as the conventions say, so it is the same for every backend. */
const PROVIDER = 'openai';

/** The attributes of a model request that have few values. `gen_ai.system` is the old name of the provider: most dashboards have it. */
const labelsOf = ({ operation, model, servedModel, address, port, error }: Inference): Attributes =>
  known({
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDER,
    'gen_ai.system': PROVIDER,
    'gen_ai.request.model': model,
    'gen_ai.response.model': servedModel,
    'server.address': address,
    'server.port': port,
    'error.type': error,
  });

/** The attributes of its span. */
export const attributesOf = (inference: Inference): Attributes => ({
  ...labelsOf(inference),
  ...known({
    'gen_ai.usage.input_tokens': inference.tokens?.input,
    'gen_ai.usage.output_tokens': inference.tokens?.output,
    'gen_ai.usage.cache_read.input_tokens': inference.tokens?.cachedInput,
    'gen_ai.usage.reasoning.output_tokens': inference.tokens?.reasoningOutput,
  }),
});

const known = (attributes: Readonly<Record<string, string | number | null | undefined>>): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  );

/** As the conventions advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Records the metrics of a model request that has ended. */
export const modelRequestMetrics = (meter: Meter): ((inference: Inference) => void) => {
  const histogram = (name: string, unit: string, description: string, boundaries: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  const seconds = histogram('gen_ai.client.operation.duration', 's', 'Duration of a model request.', SECONDS);
  const tokens = histogram('gen_ai.client.token.usage', '{token}', 'Tokens of a model request.', TOKENS);
  const firstToken = histogram(
    'gen_ai.server.time_to_first_token',
    's',
    'Time from the arrival of a request to the first output of the model.',
    FIRST_TOKEN,
  );
  return (inference) => {
    const labels = labelsOf(inference);
    seconds.record(inference.seconds, labels);
    for (const type of ['input', 'output'] as const) {
      if (inference.tokens !== null)
        tokens.record(inference.tokens[type], { ...labels, 'gen_ai.token.type': type });
    }
    if (inference.firstTokenSeconds !== null) firstToken.record(inference.firstTokenSeconds, labels);
  };
};
