import type { JsonObject } from '../../src/kit/json/json.ts';

/** Answers of a model as bytes, short enough to be cut at every one of them. */
export interface AnswerStream {
  readonly bytes: Buffer;
  /** How many bytes make the answer complete; null: it never is. */
  readonly wholeAt: number | null;
}

type Event = JsonObject & { readonly type: string };

const sse = (event: Event): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const message = (text: string, index = 0): Event[] => {
  const item = { type: 'message', id: `msg_${index}`, role: 'assistant' };
  const at = { item_id: item.id, output_index: index, content_index: 0 };
  const half = Math.ceil(text.length / 2);
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', ...at, delta: text.slice(0, half) },
    { type: 'response.output_text.delta', ...at, delta: text.slice(half) },
    {
      type: 'response.output_item.done',
      output_index: index,
      item: { ...item, content: [{ type: 'output_text', text }] },
    },
  ];
};

const reasoning = (text: string, index = 0): Event[] => {
  const item = { type: 'reasoning', id: `rs_${index}` };
  const at = { item_id: item.id, output_index: index, summary_index: 0 };
  const summary = [{ type: 'summary_text', text }];
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, summary: [] } },
    { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...at, delta: text },
    {
      type: 'response.output_item.done',
      output_index: index,
      item: { ...item, summary, encrypted_content: 'opaque' },
    },
  ];
};

const call = (args: readonly string[], index = 0): Event[] => {
  const item = { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name: 'f' };
  const at = { item_id: item.id, output_index: index };
  const whole = args.join('');
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, arguments: '' } },
    ...args.map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, arguments: whole },
    { type: 'response.output_item.done', output_index: index, item: { ...item, arguments: whole } },
  ];
};

const customCall = (input: string, index = 0): Event[] => {
  const item = { type: 'custom_tool_call', id: `ctc_${index}`, call_id: `call_${index}`, name: 'g' };
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, input: '' } },
    { type: 'response.custom_tool_call_input.delta', item_id: item.id, output_index: index, delta: input },
    { type: 'response.output_item.done', output_index: index, item: { ...item, input } },
  ];
};

const search = (index = 0): Event[] => {
  const item = { type: 'file_search_call', id: `fs_${index}` };
  return [
    { type: 'response.output_item.added', output_index: index, item },
    { type: 'response.file_search_call.searching', item_id: item.id, output_index: index },
    { type: 'response.output_item.done', output_index: index, item: { ...item, queries: ['ü'] } },
  ];
};

const USAGE = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 7,
};
const CREATED: Event = { type: 'response.created', response: { id: 'resp_1' } };
const COMPLETED: Event = { type: 'response.completed', response: { id: 'resp_1', usage: USAGE } };

const whole = (...items: readonly Event[][]): AnswerStream => {
  const bytes = Buffer.from([CREATED, ...items.flat(), COMPLETED].map(sse).join(''));
  return { bytes, wholeAt: bytes.length };
};

/** Never ends successfully, however much of it arrives. */
const never = (items: readonly Event[], end: string): AnswerStream => ({
  bytes: Buffer.from([CREATED, ...items].map(sse).join('') + end),
  wholeAt: null,
});

/** Items that only the last event contains count like streamed ones. */
const unstreamed = (...items: readonly Event[][]): AnswerStream => {
  const output = items.map((events) => events.at(-1)?.['item'] ?? null);
  const last = { type: 'response.completed', response: { id: 'resp_1', usage: USAGE, output } };
  const bytes = Buffer.from([CREATED, last].map(sse).join(''));
  return { bytes, wholeAt: bytes.length };
};

const CALL = call(['{"a":', '"é"}']);
const failed = { code: 'server_error', message: 'Broken.' };

export const STREAMS: Readonly<Record<string, AnswerStream>> = {
  text: whole(message('Hello, wörld.')),
  'reasoning and text': whole(reasoning('Hm.'), message('So.', 1)),
  'a hosted call': whole(search()),
  'a call': whole(CALL),
  'text and two calls': whole(message('Look.'), call(['{"a":1}'], 1), call(['{"b"', ':2}'], 2)),
  'a call and text behind it': whole(CALL, message('There.', 1)),
  'a custom call, then another answer': whole(customCall('run')),
  'a custom call next to a function call': whole(customCall('run'), call(['{}'], 1)),
  'items that only the last event holds': unstreamed(message('Hello.'), call(['{"z":1}'], 1)),
  'a call, then response.failed': never(
    CALL,
    sse({ type: 'response.failed', response: { id: 'resp_1', error: failed } }),
  ),
  'a call, then error': never(CALL, sse({ type: 'error', ...failed })),
  'a call, half a call, then response.incomplete': never(
    [...CALL, ...call(['{"b":'], 1).slice(0, 2)],
    sse({
      type: 'response.incomplete',
      response: { id: 'resp_1', incomplete_details: { reason: 'max_output_tokens' }, usage: USAGE },
    }),
  ),
  'a call, then [DONE]': never(CALL, 'data: [DONE]\n\n'),
  'a call and no more': never(CALL, ''),
};

/** What a model says when codex has answered a call itself. */
export const SECOND_ANSWER: AnswerStream = whole(message('Without it, then.'));
