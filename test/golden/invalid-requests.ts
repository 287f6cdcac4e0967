const USER = { role: 'user', content: 'hi' };
const FUNCTION = { name: 'now', parameters: { type: 'object' } };
const CALL = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } };

const chat = (different: object): object => ({ model: 'codex-5', messages: [USER], ...different });
const responses = (different: object): object => ({ model: 'codex-5', input: 'hi', ...different });
const messages = (different: object): object => ({
  model: 'claude-sonnet-5-5',
  max_tokens: 100,
  messages: [USER],
  ...different,
});
const completions = (different: object): object => ({ model: 'codex-5', prompt: 'hi', ...different });

type Bodies = Readonly<Record<string, unknown>>;

const CHAT: Bodies = {
  'a list instead of an object': [],
  'no model': { messages: [USER] },
  'a number as the model': chat({ model: 5 }),
  'no messages': { model: 'codex-5' },
  'empty messages': chat({ messages: [] }),
  'messages that are a text': chat({ messages: 'hi' }),
  'a message without a role': chat({ messages: [{ content: 'hi' }] }),
  'an unknown role': chat({ messages: [{ role: 'robot', content: 'hi' }] }),
  'a user without content': chat({ messages: [{ role: 'user' }] }),
  'an unknown content part': chat({ messages: [{ role: 'user', content: [{ type: 'video' }] }] }),
  'an image without a URL': chat({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }],
  }),
  'an image of an unknown scheme': chat({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://a/b.png' } }] }],
  }),
  'a call without its output': chat({
    messages: [USER, { role: 'assistant', content: null, tool_calls: [CALL] }, USER],
  }),
  'an output without its call': chat({
    messages: [USER, { role: 'tool', tool_call_id: 'call_9', content: 'x' }],
  }),
  'stream that is a text': chat({ stream: 'yes' }),
  'stream_options without stream': chat({ stream_options: { include_usage: true } }),
  'n of 0': chat({ n: 0 }),
  'n of 1.5': chat({ n: 1.5 }),
  'max_tokens and max_completion_tokens': chat({ max_tokens: 1, max_completion_tokens: 1 }),
  'max_tokens of 0': chat({ max_tokens: 0 }),
  'temperature of 3': chat({ temperature: 3 }),
  'top_p of 2': chat({ top_p: 2 }),
  'five stop sequences': chat({ stop: ['a', 'b', 'c', 'd', 'e'] }),
  'a tool without a name': chat({ tools: [{ type: 'function', function: {} }] }),
  'a tool name with a space': chat({ tools: [{ type: 'function', function: { name: 'a b' } }] }),
  'two tools of one name': chat({
    tools: [
      { type: 'function', function: FUNCTION },
      { type: 'function', function: FUNCTION },
    ],
  }),
  'a choice of a tool that is not declared': chat({
    tools: [{ type: 'function', function: FUNCTION }],
    tool_choice: { type: 'function', function: { name: 'later' } },
  }),
  'tools that are not a list': chat({ tools: { type: 'function', function: FUNCTION } }),
  'an unknown tool_choice': chat({ tools: [{ type: 'function', function: FUNCTION }], tool_choice: 'maybe' }),
  'parallel_tool_calls that is a text': chat({ parallel_tool_calls: 'true' }),
  'a choice without tools': chat({ tool_choice: 'required' }),
  'an unknown response format': chat({ response_format: { type: 'yaml' } }),
  'a schema without a name': chat({ response_format: { type: 'json_schema', json_schema: {} } }),
  'an invalid schema': chat({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'nothing' } } },
  }),
  'audio as an answer': chat({ modalities: ['audio'] }),
  'an unknown effort': chat({ reasoning_effort: 5 }),
  'two efforts that differ': chat({ reasoning_effort: 'low', reasoning: { effort: 'high' } }),
};

const RESPONSES: Bodies = {
  'a text instead of an object': 'hi',
  'no model': { input: 'hi' },
  'no input': { model: 'codex-5' },
  'empty input': responses({ input: [] }),
  'an item that is a number': responses({ input: [7] }),
  'an item of an unknown role': responses({ input: [{ role: 'robot', content: 'hi' }] }),
  'a call without a name': responses({
    input: [{ type: 'function_call', call_id: 'call_1', arguments: '{}' }],
  }),
  'an output without its call': responses({
    input: [{ type: 'function_call_output', call_id: 'call_9', output: 'x' }],
  }),
  'a reference to an item': responses({ input: [{ type: 'item_reference', id: 'msg_1' }] }),
  'an unknown content part': responses({ input: [{ role: 'user', content: [{ type: 'input_video' }] }] }),
  'an image in a file of the server': responses({
    input: [{ role: 'user', content: [{ type: 'local_image', path: '/tmp/a.png' }] }],
  }),
  messages: responses({ messages: [USER] }),
  max_tokens: responses({ max_tokens: 5 }),
  'max_output_tokens of 1': responses({ max_output_tokens: 1 }),
  'n of 2': responses({ n: 2 }),
  'background, not a boolean': responses({ background: 'yes' }),
  previous_response_id: responses({ previous_response_id: 'resp_1' }),
  conversation: responses({ conversation: 'conv_1' }),
  'temperature that is a text': responses({ temperature: 'hot' }),
  'a tool without a type': responses({ tools: [{ name: 'now' }] }),
  'an unknown text format': responses({ text: { format: { type: 'yaml' } } }),
  'metadata that is a text': responses({ metadata: 'x' }),
};

const COMPLETIONS: Bodies = {
  'no model': { prompt: 'hi' },
  'a suffix': completions({ suffix: 'end' }),
  'best_of below n': completions({ n: 3, best_of: 2 }),
  'max_tokens below 0': completions({ max_tokens: -1 }),
  'logprobs of 9': completions({ logprobs: 9 }),
};

const MESSAGES: Bodies = {
  'a list instead of an object': [],
  'no model': { max_tokens: 100, messages: [USER] },
  'no max_tokens': { model: 'claude-sonnet-5-5', messages: [USER] },
  'max_tokens below 0': messages({ max_tokens: -1 }),
  'empty messages': messages({ messages: [] }),
  'a message without content': messages({ messages: [{ role: 'user' }] }),
  'an unknown role': messages({ messages: [{ role: 'robot', content: 'hi' }] }),
  'stream that is a text': messages({ stream: 'yes' }),
};

/** Invalid requests by endpoint. */
export const INVALID_REQUESTS: Readonly<Record<string, Bodies>> = {
  '/v1/chat/completions': CHAT,
  '/v1/responses': RESPONSES,
  '/v1/messages': MESSAGES,
  '/v1/completions': COMPLETIONS,
};
