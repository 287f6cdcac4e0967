/** Parts of a request, and a request that ends with them. */
export interface Sample {
  readonly shows: readonly unknown[];
  /** Number of items before them. */
  readonly before: number;
  readonly body: object;
}

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const USER = { role: 'user', content: 'hi' };
const CALL = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{ }' } };

/** After a user message, which Chat requires. */
const chat = (...shows: readonly unknown[]): Sample => ({
  shows,
  before: 1,
  body: { model: 'codex-5', messages: [USER, ...shows] },
});

export const CHAT_SAMPLES: readonly Sample[] = [
  chat({ role: 'system', content: 'Be brief.' }),
  chat({ role: 'developer', content: 'Be brief.' }),
  chat(USER),
  chat({
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: PIXEL, detail: 'high' } },
    ],
  }),
  chat({ role: 'assistant', content: 'Hello.' }),
  chat({ role: 'assistant', content: null, refusal: 'No.' }),
  chat(
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'call_1', content: '12:00' },
  ),
];

const responses = (...shows: readonly unknown[]): Sample => ({
  shows,
  before: 0,
  body: { model: 'codex-5', input: shows },
});

const FUNCTION_CALL = { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{ }' };
const CUSTOM_CALL = { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** Begin' };

export const RESPONSES_SAMPLES: readonly Sample[] = [
  { shows: ['Hello?'], before: 0, body: { model: 'codex-5', input: 'Hello?' } },
  responses({ role: 'system', content: 'Be brief.' }),
  responses({
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'What is this?' },
      { type: 'input_image', image_url: PIXEL, detail: 'high' },
    ],
  }),
  responses({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
  }),
  responses({
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'A greeting.' }],
    encrypted_content: 'gAAAA',
  }),
  responses(FUNCTION_CALL, { type: 'function_call_output', call_id: 'call_1', output: '12:00' }),
  responses({ type: 'function_call_output', name: 'plan', namespace: 'editor', output: 'Approved.' }),
  responses(CUSTOM_CALL, { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' }),
];
