import type { Meter } from '@opentelemetry/api';
import { expect, it } from 'vitest';

import type { SpanFacts, TraceSpan } from '../../canonical/context/trace.ts';
import { attributesOf, inferencesIn, modelRequestMetrics, type Inference } from './model-requests.ts';

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
      // Since the client's request.
      firstTokenSeconds: 1.5,
      tokens: { input: 10, cachedInput: 4, output: 3, reasoningOutput: 2 },
    },
    // Only the first output counts.
    expect.objectContaining({ servedModel: 'm-1', firstTokenSeconds: null }),
  ]);
});

it('the old completions are text completions', () => {
  const [[, inference] = []] = inferencesIn([ANSWERED], '/v1/completions');
  expect(inference?.operation).toBe('text_completion');
});

it('a span has the attributes of the conventions for generative AI', () => {
  const [inference] = inferences(ANSWERED);
  if (inference === undefined) throw new Error('no model request');
  expect(attributesOf(inference)).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'm',
    'gen_ai.response.model': 'm-1',
    'server.address': '[::1]',
    'server.port': 8080,
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.usage.reasoning.output_tokens': 2,
  });
});

it('metrics are recorded with labels of few values', () => {
  const recorded: unknown[] = [];
  const meter = {
    createHistogram: (name: string) => ({
      record: (value: number, labels: Readonly<Record<string, unknown>>) =>
        recorded.push([name, value, labels['gen_ai.token.type'] ?? null, Object.keys(labels).length]),
    }),
  } as unknown as Meter;
  const record = modelRequestMetrics(meter);
  for (const inference of inferences(FAILED, ANSWERED)) record(inference);
  expect(recorded).toEqual([
    ['gen_ai.client.operation.duration', 2, null, 7],
    ['gen_ai.client.operation.duration', 2, null, 7],
    ['gen_ai.client.token.usage', 10, 'input', 8],
    ['gen_ai.client.token.usage', 3, 'output', 8],
    ['gen_ai.server.time_to_first_token', 1.5, null, 7],
  ]);
});
