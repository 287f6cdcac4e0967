import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { accountOf, makeTokens } from './login.ts';

/** Model requests that break no rule, so that a test can break exactly one. */
export interface Draft {
  readonly headers: Record<string, string>;
  readonly body: Record<string, Json> & { input: JsonObject[] };
}

export const OWN_REASONING = 'reasoning-of-this-backend';

const IDENTITY = '0199a000-9546-7660-93d9-4b0546c491e5';

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

const history = (): JsonObject[] => [
  { type: 'message', id: 'msg_1', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
  {
    type: 'message',
    id: 'msg_2',
    role: 'user',
    content: [
      { type: 'input_text', text: 'What is the weather here?' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ],
  },
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: OWN_REASONING },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
  {
    type: 'function_call_output',
    id: 'fco_1',
    call_id: 'call_1',
    output: [{ type: 'input_text', text: 'Sun.' }],
  },
  { type: 'message', id: 'msg_3', role: 'assistant', content: [{ type: 'output_text', text: 'Sun.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And tomorrow?' }] },
];

const headers = (): Record<string, string> => ({
  authorization: `Bearer ${makeTokens(accountOf({})).access_token}`,
  'chatgpt-account-id': 'acc-1',
  version: '0.166.0',
  originator: 'codex_exec',
  'session-id': IDENTITY,
  'thread-id': IDENTITY,
});

const common = (): Record<string, Json> => ({
  tool_choice: 'auto',
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: IDENTITY,
});

export const responsesDraft = (): Draft => ({
  headers: headers(),
  body: {
    ...common(),
    model: 'gpt-5.5',
    instructions: '',
    input: history(),
    tools: [WEATHER, { type: 'web_search' }],
    parallel_tool_calls: true,
    reasoning: { effort: 'low' },
  },
});

export const codexFormatDraft = (): Draft => ({
  headers: { ...headers(), 'x-openai-internal-codex-responses-lite': 'true' },
  body: {
    ...common(),
    model: 'gpt-6.1-sol',
    input: [
      {
        type: 'additional_tools',
        id: 'at_1',
        role: 'developer',
        tools: [WEATHER, { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }],
      },
      ...history(),
    ],
    parallel_tool_calls: false,
    reasoning: { effort: 'low', context: 'all_turns' },
  },
});
