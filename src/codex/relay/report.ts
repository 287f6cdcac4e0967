import type { Failure } from '../../canonical/failure.ts';
import type { IncompleteReason } from '../../canonical/outcome.ts';
import type { Usage } from '../../canonical/usage.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { createLineDecoder } from '../../kit/line-decoder.ts';
import type { WireEvent } from '../translate/wire-report.ts';
import { streamFailure } from './http-failure.ts';

/** The findings in one answer's events. */
export interface Findings {
  failure: Failure | null;
  incomplete: IncompleteReason | null;
  usage: Usage | null;
  readonly refusals: Map<string, string>;
}

export const noFindings = (): Findings => ({
  failure: null,
  incomplete: null,
  usage: null,
  refusals: new Map(),
});

/** The events that are worth parsing; the many text deltas are not among them. */
const READ = new Set([
  'response.output_item.added',
  'response.function_call_arguments.delta',
  'response.refusal.delta',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

/** Reads a streamed answer beside its way to the app-server. */
export class AnswerReader {
  readonly #lines = createLineDecoder();
  readonly #findings: Findings;
  readonly #onEvent: (event: WireEvent) => void;
  #event: string | null = null;

  constructor(findings: Findings, onEvent: (event: WireEvent) => void) {
    this.#findings = findings;
    this.#onEvent = onEvent;
  }

  push(chunk: Uint8Array): void {
    for (const line of this.#lines.push(chunk)) this.#line(line);
  }

  #line(line: string): void {
    if (line === '') this.#event = null;
    else if (line.startsWith('event:')) this.#event = line.slice(6).trim();
    else if (line.startsWith('data:')) {
      const type = this.#event ?? typeOf(line);
      if (type !== null && READ.has(type)) this.#read(type, line.slice(5));
    }
  }

  #read(type: string, text: string): void {
    const data = parse(text);
    if (data === null) return;
    switch (type) {
      case 'response.output_item.added':
        this.#itemAdded(data);
        return;
      case 'response.function_call_arguments.delta':
        this.#onEvent({ kind: 'call-delta', itemId: textOf(data, 'item_id'), delta: textOf(data, 'delta') });
        return;
      case 'response.refusal.delta': {
        const { refusals } = this.#findings;
        const itemId = textOf(data, 'item_id');
        refusals.set(itemId, (refusals.get(itemId) ?? '') + textOf(data, 'delta'));
        return;
      }
      default:
        this.#ended(type, data);
    }
  }

  #itemAdded(data: JsonObject): void {
    const item = data['item'];
    if (!isJsonObject(item) || item['type'] !== 'function_call') return;
    this.#onEvent({
      kind: 'call-started',
      outputIndex: Number(data['output_index'] ?? 0),
      itemId: textOf(item, 'id'),
      callId: textOf(item, 'call_id'),
      name: textOf(item, 'name'),
    });
  }

  #ended(type: string, data: JsonObject): void {
    const response = isJsonObject(data['response']) ? data['response'] : {};
    this.#findings.usage = usageOf(response['usage']) ?? this.#findings.usage;
    if (type === 'response.incomplete') {
      const details = response['incomplete_details'];
      const reason = isJsonObject(details) ? details['reason'] : null;
      if (reason === 'max_output_tokens' || reason === 'content_filter') this.#findings.incomplete = reason;
    }
    if (type === 'response.failed' || type === 'error') {
      const nested = type === 'error' ? data['error'] : response['error'];
      const error = isJsonObject(nested) ? nested : data;
      this.#findings.failure = streamFailure(textOf(error, 'code') || null, textOf(error, 'message') || null);
    }
  }
}

/** For streams without `event:` lines: the type without parsing all of it. */
const typeOf = (line: string): string | null =>
  /"type"\s*:\s*"([\w.]+)"/.exec(line.slice(0, 200))?.[1] ?? null;

const parse = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    // Garbage is the app-server's to judge: it gets the same bytes.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

const textOf = (data: JsonObject, key: string): string => {
  const value = data[key];
  return typeof value === 'string' ? value : '';
};

const usageOf = (usage: unknown): Usage | null => {
  if (!isJsonObject(usage)) return null;
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const input = isJsonObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
  const output = isJsonObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {};
  return {
    inputTokens: number(usage['input_tokens']),
    cachedInputTokens: number(input['cached_tokens']),
    cacheWriteInputTokens: number(input['cache_write_tokens']),
    outputTokens: number(usage['output_tokens']),
    reasoningTokens: number(output['reasoning_tokens']),
    totalTokens: number(usage['total_tokens']),
  };
};
