import type { Usage } from '../canonical/events/usage.ts';
import { type Ambient, systemAmbient, type IdSource } from '../kit/ambient.ts';
import { assertNever } from '../kit/assert-never.ts';
import { isJsonObject, type JsonObject, type Json } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';
import { type ModelConnection, encodeEvent, type ModelEvent } from './connection.ts';
import {
  type ScriptStep,
  deltasOf,
  type CallStep,
  type ItemEnd,
  type ItemStep,
  type Pace,
  type ReasoningStep,
  type RefusalStep,
  type TextStep,
} from './script-step.ts';

export interface AnswerOptions {
  /** Default: the requested model. */
  readonly model?: string;
  /** Default: estimated from text lengths. Null: no usage. */
  readonly usage?: Usage | null;
  readonly responseId?: string;
  /** Pause between two deltas, unless the step sets its own. */
  readonly delayMs?: number;
  /** Response headers, such as rate limits. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Clock and ids; tests fix them. */
  readonly ambient?: Ambient;
}

type Ended =
  | { readonly status: 'completed' }
  | { readonly status: 'failed'; readonly error: JsonObject }
  | { readonly status: 'incomplete'; readonly reason: string };

/** Runs the steps and sends them as a well-formed Responses event stream. */
export const answer = async (
  connection: ModelConnection,
  steps: readonly ScriptStep[],
  options: AnswerOptions = {},
): Promise<void> => {
  const { clock, ids } = options.ambient ?? systemAmbient;
  const request = connection.request.body;
  const seconds = (): number => Math.floor(clock.now() / 1000);
  const identity = {
    id: options.responseId ?? ids.mint('resp'),
    createdAt: seconds(),
    model: options.model ?? (typeof request['model'] === 'string' ? request['model'] : 'demo'),
  };
  const items = new ItemWriter(connection, ids, options.delayMs ?? null);
  const send = (type: string, state: Partial<ResponseState>): void =>
    items.event({ type, response: responseObject(identity, request, { ...STARTED, ...state }) });

  connection.open(options.headers);
  send('response.created', {});
  send('response.in_progress', {});

  const ended = await runSteps(connection, items, steps);
  if (ended === null || connection.closed) return;
  const usage = options.usage === undefined ? estimateUsage(request, items.output) : options.usage;
  send(`response.${ended.status}`, {
    status: ended.status,
    output: items.output,
    usage: usage === null ? undefined : usageFields(usage),
    ...(ended.status === 'completed' && { completedAt: seconds() }),
    ...(ended.status === 'failed' && { error: ended.error, usage: null }),
    ...(ended.status === 'incomplete' && { incompleteDetails: { reason: ended.reason } }),
  });
  await connection.flush();
  connection.end();
};

const STARTED: ResponseState = {
  status: 'in_progress',
  output: [],
  completedAt: null,
  error: null,
  incompleteDetails: null,
  usage: null,
};

/** Runs the steps in order. Returns null if the stream was closed early. */
const runSteps = async (
  connection: ModelConnection,
  items: ItemWriter,
  steps: readonly ScriptStep[],
): Promise<Ended | null> => {
  for (const step of steps) {
    if (connection.closed) return null;
    if ('text' in step) await items.text(step);
    else if ('reasoning' in step) await items.reasoning(step);
    else if ('call' in step) await items.call(step);
    else if ('refusal' in step) await items.refusal(step);
    else if ('item' in step) items.other(step);
    else if ('event' in step) items.event(step.event);
    else if ('raw' in step) connection.write(step.raw);
    else if ('wait' in step) await (typeof step.wait === 'number' ? connection.wait(step.wait) : step.wait);
    else if ('fail' in step) return { status: 'failed', error: { ...step.fail } };
    else if ('incomplete' in step) return { status: 'incomplete', reason: step.incomplete };
    else if ('cut' in step) {
      await connection.flush();
      connection.destroy();
    } else if ('hang' in step) await connection.hang();
    else assertNever(step);
  }
  return { status: 'completed' };
};

const MAX_COUNTED_CHARS = 256 * 1024;

const estimateUsage = (request: JsonObject, output: readonly JsonObject[]): Usage => {
  const input = request['input'] ?? '';
  // An estimate is not worth serialising a very long input.
  const inputTokens = isLongerThan(input, MAX_COUNTED_CHARS)
    ? MAX_COUNTED_CHARS / 4
    : roughTokens(JSON.stringify(input));
  const reasoningTokens = tokensOf(output.filter((item) => item['type'] === 'reasoning'));
  const outputTokens = tokensOf(output);
  return {
    inputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens,
    reasoningTokens,
    totalTokens: inputTokens + outputTokens,
  };
};

const tokensOf = (items: readonly JsonObject[]): number =>
  items.reduce((sum, item) => sum + roughTokens(visibleText(item)), 0);

/** The text of an item that counts as model output, without the JSON around it. */
const visibleText = (item: JsonObject): string => {
  const parts = [item['content'], item['summary']].flatMap((list) => (Array.isArray(list) ? list : []));
  return [item, ...parts]
    .filter(isJsonObject)
    .flatMap((part) => [part['text'], part['refusal'], part['arguments']])
    .filter((text) => typeof text === 'string')
    .join('');
};

/** Number of deltas written before waiting for the socket to drain. */
const DELTAS_PER_FLUSH = 256;

interface EventPosition extends JsonObject {
  readonly item_id: string;
  readonly output_index: number;
}

const textPart = (text: string, annotations: readonly JsonObject[] = []): JsonObject => ({
  type: 'output_text',
  annotations,
  logprobs: [],
  text,
});
const refusalPart = (refusal: string): JsonObject => ({ type: 'refusal', refusal });
const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text });
const reasoningPart = (text: string): JsonObject => ({ type: 'reasoning_text', text });

/** Names on the wire for each kind of tool call. */
const CALL_FORMS = {
  function: { type: 'function_call', prefix: 'fc', field: 'arguments', events: 'function_call_arguments' },
  custom: { type: 'custom_tool_call', prefix: 'ctc', field: 'input', events: 'custom_tool_call_input' },
} as const;

/** Writes output items as event sequences, numbers the events, and collects the finished items. */
class ItemWriter {
  readonly output: JsonObject[] = [];
  readonly #connection: ModelConnection;
  readonly #ids: IdSource;
  readonly #delayMs: number | null;
  #sequence = 0;
  #started = 0;

  constructor(connection: ModelConnection, ids: IdSource, delayMs: number | null) {
    this.#connection = connection;
    this.#ids = ids;
    this.#delayMs = delayMs;
  }

  event(event: ModelEvent): void {
    this.#connection.write(encodeEvent({ ...event, sequence_number: this.#sequence++ }));
  }

  async text(step: TextStep): Promise<void> {
    const item = this.#message(step);
    const at = { ...this.#added(item('in_progress', [])), content_index: 0 };
    this.event({ type: 'response.content_part.added', ...at, part: textPart('') });
    await this.#deltas('response.output_text.delta', { ...at, logprobs: [] }, step.text, step);
    const annotations = step.annotations ?? [];
    for (const [index, annotation] of annotations.entries())
      this.event({
        type: 'response.output_text.annotation.added',
        ...at,
        annotation_index: index,
        annotation,
      });
    if (step.end === 'open') return;
    this.event({ type: 'response.output_text.done', ...at, text: step.text, logprobs: [] });
    this.event({ type: 'response.content_part.done', ...at, part: textPart(step.text, annotations) });
    this.#done(at, item(step.end ?? 'completed', [textPart(step.text, annotations)]));
  }

  async refusal(step: RefusalStep): Promise<void> {
    const item = this.#message(step);
    const at = { ...this.#added(item('in_progress', [])), content_index: 0 };
    this.event({ type: 'response.content_part.added', ...at, part: refusalPart('') });
    await this.#deltas('response.refusal.delta', at, step.refusal, step);
    this.event({ type: 'response.refusal.done', ...at, refusal: step.refusal });
    this.event({ type: 'response.content_part.done', ...at, part: refusalPart(step.refusal) });
    this.#done(at, item('completed', [refusalPart(step.refusal)]));
  }

  async reasoning(step: ReasoningStep): Promise<void> {
    const { summary, encrypted, content } = step.reasoning;
    const bare = { id: step.reasoning.id ?? this.#ids.mint('rs'), type: 'reasoning', summary: [] };
    const at = this.#added(bare);
    for (const [index, text] of summary.entries()) {
      const place = { ...at, summary_index: index };
      this.event({ type: 'response.reasoning_summary_part.added', ...place, part: summaryPart('') });
      await this.#deltas('response.reasoning_summary_text.delta', place, text, step);
      this.event({ type: 'response.reasoning_summary_text.done', ...place, text });
      this.event({ type: 'response.reasoning_summary_part.done', ...place, part: summaryPart(text) });
    }
    for (const [index, text] of (content ?? []).entries()) {
      const place = { ...at, content_index: index };
      this.event({ type: 'response.content_part.added', ...place, part: reasoningPart('') });
      await this.#deltas('response.reasoning_text.delta', place, text, step);
      this.event({ type: 'response.reasoning_text.done', ...place, text });
      this.event({ type: 'response.content_part.done', ...place, part: reasoningPart(text) });
    }
    if (step.end === 'open') return;
    this.#done(at, {
      ...bare,
      ...(step.end === 'incomplete' && { status: step.end }),
      summary: summary.map(summaryPart),
      ...(content !== undefined && { content: content.map(reasoningPart) }),
      ...(encrypted !== undefined && { encrypted_content: encrypted }),
    });
  }

  async call(step: CallStep): Promise<void> {
    const { name, namespace, tool = 'function' } = step.call;
    const form = CALL_FORMS[tool];
    const id = step.call.id ?? this.#ids.mint(form.prefix);
    const callId = step.call.callId ?? this.#ids.mint('call');
    const args =
      typeof step.call.arguments === 'string' ? step.call.arguments : JSON.stringify(step.call.arguments);
    const item = (status: Exclude<ItemEnd, 'open'> | 'in_progress', written: string): ModelEvent => ({
      id,
      type: form.type,
      status,
      [form.field]: written,
      call_id: callId,
      name,
      ...(namespace !== undefined && { namespace }),
    });
    const at = this.#added(item('in_progress', ''));
    await this.#deltas(`response.${form.events}.delta`, at, args, step);
    if (step.end === 'open') return;
    const called = tool === 'function' ? { name } : {};
    this.event({ type: `response.${form.events}.done`, ...at, ...called, [form.field]: args });
    this.#done(at, item(step.end ?? 'completed', args));
  }

  /** Writes an item of any other type. */
  other({ item, initial = item, events = [], end }: ItemStep): void {
    const at = this.#added(initial);
    for (const event of events) this.event({ ...at, ...event });
    if (end !== 'open') this.#done(at, item);
  }

  #message({ id = this.#ids.mint('msg'), phase }: Pick<TextStep, 'id' | 'phase'>) {
    const speaker = { ...(phase !== undefined && { phase }), role: 'assistant' };
    return (status: string, content: readonly JsonObject[]): ModelEvent => ({
      id,
      type: 'message',
      status,
      ...speaker,
      content,
    });
  }

  #added(item: ModelEvent): EventPosition {
    const id = typeof item['id'] === 'string' ? item['id'] : '';
    const place = { item_id: id, output_index: this.#started++ };
    this.event({ type: 'response.output_item.added', output_index: place.output_index, item });
    return place;
  }

  #done(at: EventPosition, item: ModelEvent): void {
    this.event({ type: 'response.output_item.done', output_index: at.output_index, item });
    this.output.push(item);
  }

  async #deltas(type: string, place: JsonObject, text: string, pace: Pace): Promise<void> {
    // The constant part is encoded once: an answer may have tens of thousands of deltas.
    const head = `event: ${type}\ndata: ${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`;
    const delayMs = pace.delayMs ?? this.#delayMs;
    let unflushed = 0;
    for (const delta of deltasOf(text, pace)) {
      if (this.#connection.closed) return;
      this.#connection.write(
        `${head}${JSON.stringify(delta)},"sequence_number":${String(this.#sequence++)}}\n\n`,
      );
      unflushed += 1;
      if (delayMs !== null) await this.#connection.wait(delayMs);
      else if (unflushed === DELTAS_PER_FLUSH) {
        unflushed = 0;
        await this.#connection.flush();
      }
    }
  }
}

/** The fields of a response object that change while it is generated. */
interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'failed' | 'incomplete';
  readonly output: readonly JsonObject[];
  readonly completedAt: number | null;
  readonly error: JsonObject | null;
  readonly incompleteDetails: JsonObject | null;
  /** Undefined omits the key, as some providers do. */
  readonly usage: JsonObject | null | undefined;
}

interface ResponseIdentity {
  readonly id: string;
  readonly createdAt: number;
  readonly model: string;
}

const MAX_ECHO_CHARS = 256 * 1024;

/** The complete response object inside `response.*` events. It echoes the request's settings, as OpenAI does. */
const responseObject = (
  identity: ResponseIdentity,
  request: JsonObject,
  state: ResponseState,
): JsonObject => {
  // The object is sent three times, so very long values are omitted.
  const echo = (key: string, otherwise: Json): Json => {
    const value = request[key] ?? otherwise;
    return isLongerThan(value, MAX_ECHO_CHARS) ? otherwise : value;
  };
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.createdAt,
    completed_at: state.completedAt,
    status: state.status,
    background: false,
    error: state.error,
    frequency_penalty: echo('frequency_penalty', 0),
    incomplete_details: state.incompleteDetails,
    instructions: echo('instructions', null),
    max_output_tokens: echo('max_output_tokens', null),
    max_tool_calls: echo('max_tool_calls', null),
    metadata: echo('metadata', {}),
    model: identity.model,
    output: state.output,
    parallel_tool_calls: echo('parallel_tool_calls', true),
    presence_penalty: echo('presence_penalty', 0),
    previous_response_id: null,
    prompt_cache_key: echo('prompt_cache_key', null),
    reasoning: echo('reasoning', { effort: null, summary: null }),
    safety_identifier: echo('safety_identifier', null),
    service_tier: echo('service_tier', 'default'),
    store: echo('store', false),
    temperature: echo('temperature', 1),
    text: echo('text', { format: { type: 'text' } }),
    tool_choice: echo('tool_choice', 'auto'),
    tools: echo('tools', []),
    top_logprobs: echo('top_logprobs', 0),
    top_p: echo('top_p', 1),
    truncation: echo('truncation', 'disabled'),
    usage: state.usage,
  };
};

const usageFields = (usage: Usage): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteInputTokens,
  },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.totalTokens,
});

/** Estimates tokens as four characters each. */
const roughTokens = (text: string): number => Math.ceil(text.length / 4);
