import { answer } from '../../src/demo/answer.ts';
import type { AnswerOptions } from '../../src/demo/answer.ts';
import type { ModelConnection } from '../../src/demo/connection.ts';
import { modelErrorBody } from '../../src/demo/model-server.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';

/** Named behaviours of the model. A name says what the upstream does. */

/** Turns steps into a script. */
export const says =
  (steps: readonly ScriptStep[], options: AnswerOptions = {}): Script =>
  (_request, connection) =>
    answer(connection, steps, options);

const repliesWith =
  (status: number, body: Json, headers: Readonly<Record<string, string>> = {}): Script =>
  (_request, connection) =>
    connection.reply(status, body, headers);

/** Exact numbers, so that a test can follow them. */
export const HELLO_USAGE = {
  inputTokens: 11,
  cachedInputTokens: 3,
  cacheWriteInputTokens: 2,
  outputTokens: 7,
  reasoningTokens: 1,
  totalTokens: 18,
};

export const hello = says([{ text: 'Hello from the scripted model.' }], { usage: HELLO_USAGE });

export const LOGPROBS = [{ token: 'Yes', bytes: [89, 101, 115], logprob: -0.1, top_logprobs: [] }];

/** One token with its log probability. */
export const sureOfItself = says(
  (() => {
    const at = { item_id: 'msg_1', output_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant' };
    const part = { type: 'output_text', text: 'Yes', annotations: [], logprobs: LOGPROBS };
    return [
      { type: 'response.output_item.added', ...at, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.output_text.delta', ...at, content_index: 0, delta: 'Yes', logprobs: LOGPROBS },
      { type: 'response.output_item.done', ...at, item: { ...item, status: 'completed', content: [part] } },
    ].map((event) => ({ event }));
  })(),
);

/** `count` deltas, as fast as the socket accepts them. */
export const longText = (count: number): Script => {
  const deltas = Array.from({ length: count }, (_, index) => `word${String(index)} `);
  return says([{ text: deltas.join(''), deltas }]);
};

/** Five deltas, each after a pause. */
export const slow = (delayMs = 50): Script =>
  says([{ text: 'one two three four five', deltas: ['one ', 'two ', 'three ', 'four ', 'five'], delayMs }]);

export const toolCall = (name = 'get_weather', args: Json = { city: 'Paris' }): Script =>
  says([{ call: { name, arguments: args, callId: 'call_weather' } }]);

/** Makes required calls, and says hello otherwise. */
export const obedient: Script = (request, connection) => {
  const { tool_choice: choice, tools } = request.body as {
    readonly tool_choice?: string | (Named & { readonly mode?: string; readonly tools?: readonly Named[] });
    readonly tools?: readonly Named[];
  };
  const isForced = choice === 'required' || (typeof choice === 'object' && choice.mode !== 'auto');
  const named = typeof choice === 'object' && choice.name !== undefined ? choice : null;
  const [first] = (typeof choice === 'object' ? choice.tools : tools) ?? [];
  const called = named ?? first;
  return (isForced && called !== undefined ? callOf(called) : hello)(request, connection);
};
interface Named {
  readonly type?: string;
  readonly name?: string;
}

const callOf = ({ type, name }: Named): Script => {
  if (name === undefined) return says([{ item: { type: `${type ?? ''}_call`, status: 'completed' } }]);
  if (type !== 'custom') return toolCall(name);
  return says([{ item: { type: 'custom_tool_call', call_id: 'call_weather', name, input: 'Paris' } }]);
};

export const parallelCalls = says([
  { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_paris' } },
  { call: { name: 'get_weather', arguments: { city: 'Oslo' }, callId: 'call_oslo' } },
]);

export const reasoningThenText = says([
  {
    reasoning: {
      summary: ['**Looking**\n\nAt the question.', '**Deciding**\n\nOn the answer.'],
      encrypted: 'opaque-reasoning',
    },
  },
  { text: 'The answer is 42.' },
]);

export const commentaryThenFinal = says([
  { text: 'Let me have a look.', phase: 'commentary' },
  { text: 'Here it is.', phase: 'final_answer' },
]);

export const http429 = (retryAfterSeconds = 7): Script =>
  repliesWith(
    429,
    modelErrorBody('Rate limit reached for requests.', 'rate_limit_error', null, 'rate_limit_exceeded'),
    { 'retry-after': String(retryAfterSeconds) },
  );

export const http401 = repliesWith(
  401,
  modelErrorBody('Incorrect API key provided.', 'invalid_request_error', null, 'invalid_api_key'),
);

export const http400 = (
  message = "Invalid value: 'purple'.",
  param: string | null = 'reasoning.effort',
  code: string | null = 'invalid_value',
): Script => repliesWith(400, modelErrorBody(message, 'invalid_request_error', param, code));

export const http404Model = (model = 'no-such-model'): Script =>
  repliesWith(
    404,
    modelErrorBody(
      `The model \`${model}\` does not exist or you do not have access to it.`,
      'invalid_request_error',
      null,
      'model_not_found',
    ),
  );

export const http500 = repliesWith(500, modelErrorBody('The backend is broken.', 'server_error', null, null));

/** Half a message, then the socket closes. */
export const cutMidStream = says([{ text: 'This sentence will never', end: 'open' }, { cut: true }]);

/** The stream stays open without further events. */
export const hang = says([{ hang: true }]);

/** Not even a status arrives. */
export const hangBeforeHeaders: Script = (_request, connection) => connection.hang();

/** A message begins and never ends. */
export const hangMidStream = says([{ text: 'Wait for', end: 'open' }, { hang: true }]);

/** An HTML page of a proxy instead of the answer. */
export const garbageHtml: Script = (_request, connection) => {
  connection.open({ 'content-type': 'text/html' });
  connection.write('<!doctype html><html><body><h1>It works!</h1></body></html>');
};

/** SSE with broken JSON, and no end. */
export const garbageJson: Script = (_request, connection) => {
  connection.write('event: response.created\ndata: {"type":"response.created","response":{\n\n');
  connection.write('event: response.output_text.delta\ndata: not json at all\n\n');
};

export const contextLengthExceeded = says([
  {
    fail: {
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model.',
    },
  },
]);

export const failed = (code = 'server_error', message = 'The model had an accident.'): Script =>
  says([{ fail: { code, message } }]);

export const incompleteMaxTokens = says([
  { text: 'This answer was cut', end: 'incomplete' },
  { incomplete: 'max_output_tokens' },
]);

export const refusal = says([{ refusal: 'I will not help with that.' }]);

/** ChatGPT's answer for a used-up plan. */
export const usageLimit = (resetsInSeconds = 3600): Script =>
  repliesWith(429, {
    error: {
      type: 'usage_limit_reached',
      message: 'The usage limit has been reached',
      plan_type: 'plus',
      resets_in_seconds: resetsInSeconds,
    },
  });

export const noUsage = says([{ text: 'Not counted.' }], { usage: null });

/** A message without text. */
export const emptyAnswer = says([{ text: '', deltas: [] }]);

/** No output item at all. */
export const noOutput = says([]);

/** The part of a request that the model sees; the rest is for the backend. */
const modelVisible = (body: JsonObject): JsonObject => ({
  ...(body['instructions'] !== undefined && { instructions: body['instructions'] }),
  ...(body['tools'] !== undefined && { tools: body['tools'] }),
  input: body['input'],
});

/** Answers with the JSON of what reached the model. */
export const echoScript: Script = ({ body }, connection) =>
  answer(connection, [{ text: JSON.stringify(modelVisible(body)), chunkSize: 4096 }]);

/** The first request gets the first script, and so on; the last one repeats. */
export const inTurn = (...scripts: readonly [Script, ...Script[]]): Script => {
  let count = 0;
  return (request, connection) => {
    const script = scripts[Math.min(count, scripts.length - 1)] ?? scripts[0];
    count += 1;
    return script(request, connection);
  };
};

/** One server for many tests: the model's name selects the script. */
export const byModel = (scripts: Readonly<Record<string, Script>>, otherwise: Script): Script => {
  return (request, connection) => {
    const model = request.body['model'];
    const chosen = typeof model === 'string' && Object.hasOwn(scripts, model) ? scripts[model] : undefined;
    return (chosen ?? otherwise)(request, connection);
  };
};

export interface SwappableScript {
  readonly script: Script;
  readonly use: (next: Script) => void;
}

/** One server for many tests: each test sets its script. */
export const swappable = (first: Script): SwappableScript => {
  let current = first;
  return {
    script: (request, connection: ModelConnection) => current(request, connection),
    use(next) {
      current = next;
    },
  };
};
