const TOOL = {
  name: 'getFileTree',
  description: 'Lists the files of the vault.',
  parameters: { type: 'object', properties: { depth: { type: 'integer', minimum: 1 } }, required: [] },
};
const SCHEMA = {
  name: 'answer',
  schema: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
  strict: true,
};
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface PayloadRequest {
  readonly endpoint: string;
  readonly body: object;
}

const responses = (body: object): PayloadRequest => ({
  endpoint: '/v1/responses',
  body: { model: 'gpt-5.5', ...body },
});
const chat = (body: object): PayloadRequest => ({
  endpoint: '/v1/chat/completions',
  body: { model: 'gpt-5.5', ...body },
});

/** One request for each kind of payload; the names are those of the files. */
export const PAYLOAD_REQUESTS: Readonly<Record<string, PayloadRequest>> = {
  'responses, a text': responses({ input: 'Hello?' }),
  'responses, instructions and a conversation': responses({
    instructions: 'Be brief.',
    input: [
      { role: 'system', content: 'You are a clerk.' },
      { role: 'user', content: 'Hello?' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'developer', content: 'In French.' },
      { role: 'user', content: 'Again?' },
    ],
  }),
  'responses, a round of tools': responses({
    tools: [{ type: 'function', ...TOOL }],
    input: [
      { role: 'user', content: 'Which files are there?' },
      { type: 'function_call', call_id: 'call_1', name: 'getFileTree', arguments: '{ "depth": 1 }' },
      { type: 'function_call_output', call_id: 'call_1', output: 'a.md' },
    ],
  }),
  'responses, effort, schema and sampling': responses({
    model: 'gpt-5.5-high',
    input: 'Hello?',
    reasoning: { summary: 'auto' },
    text: { format: { type: 'json_schema', ...SCHEMA }, verbosity: 'low' },
    temperature: 0.5,
    max_output_tokens: 4_000,
  }),
  'responses, an image': responses({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: PIXEL, detail: 'high' },
        ],
      },
    ],
  }),
  'chat, a message': chat({ messages: [{ role: 'user', content: 'Hello?' }] }),
  'chat, a round of tools': chat({
    tools: [{ type: 'function', function: TOOL }],
    messages: [
      { role: 'system', content: 'You are a clerk.' },
      { role: 'user', content: 'Which files are there?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'getFileTree', arguments: '{ "depth": 1 }' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a.md' },
    ],
  }),
  'chat, effort, schema and sampling': chat({
    messages: [{ role: 'user', content: 'Hello?' }],
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: SCHEMA },
    temperature: 0.5,
    max_tokens: 4_000,
  }),
};
