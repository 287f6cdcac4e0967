import type { Usage } from '../canonical/events/usage.ts';
import { type Ambient, systemAmbient } from '../kit/ambient.ts';
import { assertNever } from '../kit/assert-never.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';
import type { ModelConnection } from './connection.ts';
import { ItemWriter } from './item-writer.ts';
import { responseObject, roughTokens, usageFields, type ResponseState } from './response-object.ts';
import type { ScriptStep } from './script-step.ts';

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
