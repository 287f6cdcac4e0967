import type { Failure } from '../../canonical/failure.ts';
import type { IncompleteReason } from '../../canonical/outcome.ts';
import type { Usage } from '../../canonical/usage.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json.ts';
import type { WireEvent } from '../translate/wire-report.ts';
import { SseEvents } from './sse-events.ts';

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

export type AnswerListener = (event: WireEvent) => void;

/** The events that are worth parsing; the many text deltas are not among them. */
const READ = new Set([
  'response.output_item.added',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.refusal.delta',
  'response.refusal.done',
  'response.incomplete',
  'response.failed',
  'error',
]);

/** Reads a streamed answer beside its way to the app-server. */
export class AnswerReader {
  readonly #findings: Findings;
  readonly #onEvent: AnswerListener;
  readonly #fail: (event: JsonObject) => Failure;
  readonly #events = new SseEvents({
    wants: (type) => READ.has(type),
    onEvent: (type, data) => {
      if (type !== null && data !== null && READ.has(type)) this.#read(type, data);
    },
  });

  constructor(findings: Findings, onEvent: AnswerListener, fail: (event: JsonObject) => Failure) {
    this.#findings = findings;
    this.#onEvent = onEvent;
    this.#fail = fail;
  }

  /** What was found in an answer before this one is not about this one. */
  begin(): void {
    this.#findings.failure = null;
    this.#findings.incomplete = null;
    this.#findings.usage = null;
    this.#onEvent({ kind: 'answer-started' });
  }

  push(chunk: Uint8Array): void {
    this.#events.push(chunk);
  }

  end(): void {
    this.#events.end();
  }

  #read(type: string, text: string): void {
    // Garbage is the app-server's to judge: it gets the same bytes.
    const data = parseJsonObject(text);
    if (data === null) return;
    switch (type) {
      case 'response.output_item.added':
        this.#itemAdded(data);
        return;
      case 'response.function_call_arguments.delta':
        this.#onEvent({ kind: 'call-delta', itemId: textOf(data, 'item_id'), delta: textOf(data, 'delta') });
        return;
      case 'response.function_call_arguments.done':
        this.#onEvent({ kind: 'call-written', itemId: textOf(data, 'item_id') });
        return;
      case 'response.refusal.delta': {
        const { refusals } = this.#findings;
        const itemId = textOf(data, 'item_id');
        refusals.set(itemId, (refusals.get(itemId) ?? '') + textOf(data, 'delta'));
        return;
      }
      case 'response.refusal.done':
        // Some send no deltas.
        this.#findings.refusals.set(textOf(data, 'item_id'), textOf(data, 'refusal'));
        return;
      default:
        this.#ended(type, data);
    }
  }

  #itemAdded(data: JsonObject): void {
    const item = data['item'];
    if (!isJsonObject(item) || item['type'] !== 'function_call') return;
    this.#onEvent({
      kind: 'call-started',
      // Without an index nobody knows what comes before it: it waits until it is done.
      outputIndex: typeof data['output_index'] === 'number' ? data['output_index'] : Infinity,
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
    if (type === 'response.failed' || type === 'error') this.#findings.failure = this.#fail(data);
  }
}

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
