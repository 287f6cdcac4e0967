import { expect, it } from 'vitest';

import type { SpanFacts, TraceSpan } from '../canonical/context/trace.ts';
import { attributesOf, METRICS, type Inference } from './conventions.ts';
import { inferencesIn } from './inferences.ts';

const span = (name: TraceSpan['name'], facts: SpanFacts = {}): TraceSpan => ({
  name,
  parent: null,
  startMs: 1000,
  endMs: 3000,
  facts,
});

const FAILED = span('model-request', { model: 'm', host: 'api.example.com', retry: 'server-error' });
const ANSWERED = span('model-request', {
  model: 'm',
  host: '[::1]:8080',
  firstDeltaMs: 500,
  servedModel: 'm-1',
  inputTokens: 10,
  cachedInputTokens: 4,
  outputTokens: 3,
  reasoningTokens: 2,
});

const inferences = (...spans: readonly TraceSpan[]): readonly Inference[] => [
  ...inferencesIn(spans, '/v1/responses').values(),
];

it('model requests are found among the parts of a request', () => {
  expect(inferences(span('plan'), FAILED, ANSWERED, { ...ANSWERED })).toEqual([
    {
      operation: 'chat',
      model: 'm',
      servedModel: null,
      address: 'api.example.com',
      port: 443,
      error: 'server-error',
      seconds: 2,
      firstDeltaSeconds: null,
      firstTokenSeconds: null,
      tokens: null,
    },
    {
      operation: 'chat',
      model: 'm',
      servedModel: 'm-1',
      address: '[::1]',
      port: 8080,
      error: null,
      seconds: 2,
      firstDeltaSeconds: 0.5,
      // Since the client's request.
      firstTokenSeconds: 1.5,
      tokens: { input: 10, cachedInput: 4, output: 3, reasoningOutput: 2 },
    },
    // Only the first output counts.
    expect.objectContaining({ firstDeltaSeconds: 0.5, firstTokenSeconds: null }),
  ]);
});

it('the old completions are text completions', () => {
  const [[, inference] = []] = inferencesIn([ANSWERED], '/v1/completions');
  expect(inference?.operation).toBe('text_completion');
});

it('attributes are named by the chosen conventions', () => {
  const [inference] = inferences(ANSWERED);
  if (inference === undefined) throw new Error('no model request');
  const common = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'm',
    'gen_ai.response.model': 'm-1',
    'server.address': '[::1]',
    'server.port': 8080,
  };
  const usage = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 3 };
  expect(attributesOf(inference, 'current', 'metric')).toEqual({ ...common, 'gen_ai.system': 'openai' });
  expect(attributesOf(inference, 'current', 'span')).toEqual({
    ...common,
    ...usage,
    'gen_ai.system': 'openai',
  });
  expect(attributesOf(inference, 'latest', 'span')).toEqual({
    ...common,
    ...usage,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.usage.reasoning.output_tokens': 2,
    'gen_ai.response.time_to_first_chunk': 0.5,
    'gen_ai.request.stream': true,
  });
});

it('a request without an answer counts as one without tokens, where the conventions ask for it', () => {
  const [inference] = inferences(FAILED);
  if (inference === undefined) throw new Error('no model request');
  const recorded = METRICS.flatMap(({ name, valueOf }) => {
    const value = valueOf(inference);
    return value === null ? [] : [[name, value]];
  });
  expect(recorded).toEqual([
    ['gen_ai.client.operation.duration', 2],
    ['gen_ai.client.inference.duration', 2],
    ['gen_ai.client.inference.usage.input_tokens', 0],
    ['gen_ai.client.inference.usage.output_tokens', 0],
    ['gen_ai.client.inference.usage.cache_read.input_tokens', 0],
    ['gen_ai.client.inference.usage.reasoning.output_tokens', 0],
  ]);
});
