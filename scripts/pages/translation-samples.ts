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
