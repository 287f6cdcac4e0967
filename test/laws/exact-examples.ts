import type { JsonObject } from '../../src/kit/json/json.ts';

/** One hand-written request for each row of the table. */
const ASK = { model: 'gpt-5.5', input: 'hi' } as const;
const user = (content: string | readonly JsonObject[]): JsonObject => ({ role: 'user', content });

export const EXACT_EXAMPLES: readonly JsonObject[] = [
  ASK,
  { ...ASK, model: 'gpt-5.5-high', reasoning: { summary: 'auto' } },
  {
    ...ASK,
    instructions: null,
    reasoning: { effort: null, generate_summary: 'auto' },
    text: { format: { type: 'text' } },
    max_tool_calls: 3,
    truncation: 'disabled',
    top_logprobs: 0,
    no_such_field: 1,
    tools: [],
    store: true,
  },
  { ...ASK, tools: [{ type: 'function', name: 'f' }], prompt_cache_key: 'k'.repeat(65) },
  {
    ...ASK,
    input: [
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: { content: 'No.', success: false } },
      { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}' },
      { type: 'tool_output', call_id: 'call_2', output: 'Yes.' },
    ],
  },
  {
    ...ASK,
    input: [
      {
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: '', annotations: [] }],
      },
      {
        role: 'assistant',
        id: '',
        status: 'completed',
        no_such_field: 1,
        content: [{ type: 'input_text', text: 'a \ud800 b' }],
      },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      user([
        { type: 'output_text', text: 'What I heard.' },
        { type: 'input_image', image_url: 'https://images.test/a.png?b#c', detail: 'low' },
        { type: 'input_file', filename: 'a.md', file_data: 'data:text/markdown;base64,IyBIaQ==' },
      ]),
    ],
  },
];
