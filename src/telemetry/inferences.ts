import type { SpanFacts, TraceSpan } from '../canonical/context/trace.ts';
import type { Inference, Tokens } from './conventions.ts';

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
    hasOutput ||= inference.firstDeltaSeconds !== null;
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
    firstDeltaSeconds: firstDeltaMs === null ? null : firstDeltaMs / 1000,
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
