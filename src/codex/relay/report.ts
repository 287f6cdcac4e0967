import type { Failure } from '../../canonical/failure.ts';
import type { IncompleteReason } from '../../canonical/outcome.ts';
import type { Usage } from '../../canonical/usage.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json.ts';
import type { WholeItem, WireEvent } from '../translate/wire-report.ts';
import { isKeepalive } from './keepalive.ts';
import { SseEvents } from './sse-events.ts';
import { refusalIn, StreamedItems, toWholeItem } from './streamed-items.ts';

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
  'response.output_item.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.refusal.delta',
  'response.refusal.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

export interface AnswerReaderOptions {
  readonly findings: Findings;
  readonly onEvent: AnswerListener;
  readonly toFailure: (event: JsonObject) => Failure;
  /** The backend is alive: more than a keepalive came. */
  readonly onLife: () => void;
}

/** Reads a streamed answer beside its way to the app-server. */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #findings: Findings;
  readonly #onEvent: AnswerListener;
  readonly #streamed = new StreamedItems();
  readonly #events = new SseEvents({
    wants: (type) => READ.has(type),
    onEvent: (type, data) => this.#see(type, data),
  });
  /** The last word was said: nothing has to come any more. */
  #isOver = false;
  #isIncomplete = false;
  #isReported = false;
  /** No more bytes will come. */
  #isAtEnd = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#findings = options.findings;
    this.#onEvent = options.onEvent;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** It says one thing and does not come to its end. */
  get isEndless(): boolean {
    return this.#events.isEndless;
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
    if (this.#events.isInLongLine) this.#options.onLife();
  }

  /** Nothing more comes, for whatever reason. An answer that has not been completed will never be. */
  end(): void {
    this.#isAtEnd = true;
    this.#events.end();
    if (this.#isReported) return;
    this.#isReported = true;
    const how = this.#findings.failure !== null ? 'failed' : this.#isIncomplete ? 'incomplete' : 'cut';
    this.#onEvent({ kind: 'answer-ended', how });
  }

  #see(type: string | null, data: string | null): void {
    if (!isKeepalive(type)) this.#options.onLife();
    if (type === null) this.#isOver ||= data === '[DONE]';
    else if (data !== null && READ.has(type)) this.#read(type, data);
    // Too long to be read here, not for the app-server.
    else if (type === 'response.output_item.done') this.#streamed.done(null);
    else if (type === 'response.completed') this.#reportCompleted([]);
  }

  #read(type: string, text: string): void {
    // Garbage is the app-server's to judge: it gets the same bytes.
    const data = parseJsonObject(text);
    if (data === null) return;
    switch (type) {
      case 'response.output_item.added':
        this.#itemAdded(data);
        return;
      case 'response.output_item.done':
        this.#streamed.done(data);
        return;
      case 'response.completed':
        this.#completed(data);
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

  /** The app-server does not take an answer without an id. */
  #completed({ response }: JsonObject): void {
    if (!isJsonObject(response) || typeof response['id'] !== 'string') return;
    this.#reportCompleted(this.#streamed.missingIn(response['output']));
  }

  #reportCompleted(missing: readonly JsonObject[]): void {
    // Nor does it take an event whose end is missing.
    if (this.#isReported || this.#isAtEnd) return;
    this.#isOver = true;
    this.#isReported = true;
    const unstreamed: WholeItem[] = [];
    for (const item of missing) {
      const refusal = refusalIn(item);
      const whole = refusal === null ? toWholeItem(item) : null;
      if (refusal !== null) this.#findings.refusals.set(textOf(item, 'id'), refusal);
      if (whole !== null) unstreamed.push(whole);
    }
    this.#onEvent({ kind: 'answer-ended', how: 'completed', unstreamed });
  }

  #ended(type: string, data: JsonObject): void {
    this.#isOver = true;
    this.#isIncomplete ||= type === 'response.incomplete';
    const response = isJsonObject(data['response']) ? data['response'] : {};
    this.#findings.usage = usageOf(response['usage']) ?? this.#findings.usage;
    if (type === 'response.incomplete') {
      const details = response['incomplete_details'];
      const reason = isJsonObject(details) ? details['reason'] : null;
      if (reason === 'max_output_tokens' || reason === 'content_filter') this.#findings.incomplete = reason;
    }
    if (type === 'response.failed' || type === 'error') {
      this.#findings.failure = this.#options.toFailure(data);
    }
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
