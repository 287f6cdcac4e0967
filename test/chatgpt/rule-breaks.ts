import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { OWN_REASONING } from './conforming.ts';
import type { Draft } from './conforming.ts';
import type { RequestFormat } from './rule.ts';
import type { Settings } from './settings.ts';

type Change = (draft: Draft) => void;

export const set =
  (key: string, value: Json): Change =>
  ({ body }) => {
    body[key] = value;
  };
const without =
  (key: string): Change =>
  ({ body }) => {
    delete body[key];
  };
const header =
  (name: string, value: string | null): Change =>
  ({ headers }) => {
    if (value === null) delete headers[name];
    else headers[name] = value;
  };
/** Changes the first item of that type. */
export const item =
  (type: string, change: JsonObject): Change =>
  ({ body }) => {
    const index = body.input.findIndex((one) => one['type'] === type);
    body.input[index] = { ...body.input[index], ...change };
  };
export const push =
  (...items: readonly JsonObject[]): Change =>
  ({ body }) =>
    void body.input.push(...items);

export const user = (...content: readonly JsonObject[]): JsonObject => ({
  type: 'message',
  role: 'user',
  content,
});
export const LONG = 'x'.repeat(65);

/** One change, the rule that it breaks, and the service's answer (`counted`: none). */
export type Row = readonly [
  rule: string,
  requestFormat: RequestFormat,
  change: Change,
  answer: string,
  settings?: Partial<Settings>,
];

const unsupported = (name: string, value: Json): Row => [
  `parameter.${name}`,
  'responses',
  set(name, value),
  `400 Unsupported parameter: ${name}`,
];

export const ROWS: readonly Row[] = [
  ['header.authorization', 'responses', header('authorization', null), '401 Unauthorized'],
  ['header.chatgpt-account-id', 'codex', header('chatgpt-account-id', null), '401 Unauthorized'],
  ['header.version.missing', 'codex', header('version', null), '404 Model not found'],
  [
    'header.version.old',
    'responses',
    header('version', '0.99.9'),
    "400 The 'gpt-5.5' model requires a newer version of Codex.",
  ],
  ['header.forwarded', 'responses', header('x-forwarded-for', '10.0.0.1'), 'counted'],
  ['header.forwarded', 'responses', header('cf-connecting-ip', '10.0.0.1'), 'counted'],
  ['header.x-codex-turn-state', 'responses', header('x-codex-turn-state', 'state-1'), 'counted'],
  [
    'identity.session-id',
    'responses',
    header('session-id', 'b5bcf6b2-53d2-4b3c-8a07-fb2ad1a2bb0e'),
    'counted',
  ],
  ['identity.thread-id', 'codex', header('thread-id', null), 'counted'],
  ['identity.prompt_cache_key', 'codex', set('prompt_cache_key', 'my-conversation'), 'counted'],

  ['model.supported', 'responses', set('model', 'gpt-5.1'), "400 The 'gpt-5.1' model is not supported"],
  [
    'model.supported',
    'responses',
    () => {},
    "400 The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account.",
    { modelsNotInPlan: new Set(['gpt-5.5']) },
  ],
  ['store', 'responses', set('store', true), '400 Store must be set to false'],
  ['stream', 'codex', without('stream'), '400 Stream must be set to true'],
  ['input', 'responses', set('input', 'Hello'), '400 Input must be a list'],
  ['instructions.required', 'responses', without('instructions'), '400 Instructions are required'],
  [
    'instructions.required',
    'responses',
    (draft) => {
      delete draft.body['instructions'];
      draft.body.input.shift();
    },
    '400 Instructions are required',
    { instructionsNeeded: 'or-developer-message' },
  ],
  [
    'instructions.empty',
    'responses',
    () => {},
    '400 Instructions are required',
    { emptyInstructions: 'missing' },
  ],
  [
    'instructions.valid',
    'responses',
    set('instructions', 'Talk like a pirate.'),
    '400 Instructions are not valid',
    { isValidInstructions: (text) => !text.includes('pirate') },
  ],
  unsupported('max_output_tokens', 100),
  unsupported('temperature', 1),
  unsupported('top_p', 1),
  unsupported('metadata', {}),
  unsupported('truncation', 'disabled'),
  unsupported('user', 'me'),
  unsupported('safety_identifier', 'me'),
  unsupported('prompt_cache_retention', '24h'),
  unsupported('prompt_cache_options', {}),
  unsupported('context_management', []),
  unsupported('background', false),
  unsupported('previous_response_id', 'resp_1'),
  [
    'parameter.prompt_cache_breakpoint',
    'responses',
    push(user({ type: 'input_text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit' } })),
    '400 Unsupported parameter: prompt_cache_breakpoint',
  ],
  [
    'parameter.service_tier',
    'responses',
    set('service_tier', 'flex'),
    '400 Unsupported service_tier: "flex"',
  ],
  ['parameter.unknown', 'responses', set('stop', ['.']), '400 Unsupported parameter: stop'],
  [
    'effort.minimal',
    'responses',
    set('reasoning', { effort: 'minimal' }),
    "400 Unsupported value: 'minimal' is not supported with the 'gpt-5.5' model.",
  ],
  [
    'lane.full-for-lite-model',
    'responses',
    set('model', 'gpt-6-luna'),
    "400 The 'gpt-6-luna' model is only available with responses lite.",
    { responsesFormatForCodexModels: 'refused' },
  ],

  ['lane.lite', 'codex', () => {}, '400 Responses lite is not available.', { codexFormat: 'refused' }],
  [
    'lite.model',
    'codex',
    set('model', 'gpt-5.5'),
    "400 The 'gpt-5.5' model does not support responses lite.",
  ],
  [
    'lite.parallel_tool_calls',
    'codex',
    set('parallel_tool_calls', true),
    '400 parallel_tool_calls must be set to false',
  ],
  [
    'lite.reasoning.context',
    'codex',
    set('reasoning', { effort: 'low' }),
    '400 reasoning.context must be set to all_turns',
  ],
  [
    'lite.tools.place',
    'codex',
    set('tools', [{ type: 'function', name: 'f' }]),
    '400 Unsupported parameter: tools',
  ],
  [
    'lite.tools.place',
    'codex',
    ({ body }) => void body.input.push(...body.input.splice(0, 1)),
    '400 Unsupported parameter: tools',
  ],
  [
    'lite.tools.type',
    'codex',
    item('additional_tools', {
      tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'web_search' }] }],
    }),
    '400 Unsupported tool type: web_search',
  ],
  [
    'lite.tool_choice',
    'codex',
    set('tool_choice', { type: 'function', name: 'get_weather' }),
    "400 Tool choice 'get_weather' not found in 'tools' parameter.",
  ],
  [
    'lite.tool_choice',
    'codex',
    set('tool_choice', 'required'),
    "400 Tool choice 'required' not found in 'tools' parameter.",
  ],
  [
    'lite.image.detail',
    'codex',
    push(user({ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' })),
    "400 Unsupported parameter: 'input[8].content[0].detail'.",
  ],
  [
    'tools.type',
    'responses',
    set('tools', [{ type: 'file_search' }]),
    '400 Unsupported tool type: "file_search"',
  ],
  ['full.additional_tools', 'responses', push({ type: 'additional_tools', tools: [] }), 'counted'],

  ['role.system', 'codex', item('message', { role: 'system' }), '400 System messages are not allowed'],
  [
    'reasoning.encrypted',
    'responses',
    item('reasoning', { encrypted_content: null }),
    "404 Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
  ],
  [
    'reasoning.own',
    'codex',
    item('reasoning', { encrypted_content: 'of-another-account' }),
    '400 The encrypted content for item rs_1 could not be verified.',
  ],
  [
    'reasoning.followed',
    'responses',
    push({ type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: OWN_REASONING }),
    "400 Item 'rs_2' of type 'reasoning' was provided without its required following item.",
  ],
  [
    'id.prefix',
    'responses',
    item('message', { id: 'chatcmpl-1' }),
    "400 Invalid 'input[0].id': 'chatcmpl-1'. Expected an ID that begins with 'msg'.",
  ],
  [
    'id.prefix',
    'responses',
    item('reasoning', { id: 'thought-1' }),
    "400 Invalid 'input[2].id': 'thought-1'. Expected an ID that begins with 'rs'.",
  ],
  [
    'id.prefix',
    'responses',
    item('function_call', { id: 'call_1' }),
    "400 Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.",
  ],
  [
    'id.likely-prefix',
    'responses',
    push({ type: 'web_search_call', id: 'px_7', status: 'completed' }),
    "400 Invalid 'input[7].id': 'px_7'. Expected an ID that begins with 'ws'.",
  ],
  [
    'id.length',
    'responses',
    item('message', { id: `msg_${LONG}` }),
    "400 Invalid 'input[0].id': string too long. Expected a string with maximum length 64, but got a string with length 69 instead.",
  ],
  [
    'call_id.length',
    'responses',
    push(
      { type: 'function_call', name: 'f', arguments: '{}', call_id: LONG },
      { type: 'function_call_output', output: '', call_id: LONG },
    ),
    "400 Invalid 'input[7].call_id': string too long.",
  ],
  [
    'call_id.paired',
    'codex',
    item('function_call_output', { call_id: 'call_2' }),
    '400 No tool call found for function call output with call_id call_2.',
  ],
  [
    'call_id.paired',
    'responses',
    push({ type: 'function_call', name: 'f', arguments: '{}', call_id: 'call_2' }),
    '400 No tool output found for function call call_2.',
  ],
  [
    'call.namespace',
    'responses',
    item('function_call', { namespace: 'functions' }),
    "400 Unknown parameter: 'input[3].namespace'.",
    { namespaceOnCalls: 'refused' },
  ],
  [
    'part.audio',
    'responses',
    item('function_call_output', { output: [{ type: 'input_audio', audio_url: 'data:audio/wav;base64,' }] }),
    "400 Invalid value: 'input_audio'.",
  ],
  [
    'part.file',
    'responses',
    push(user({ type: 'input_file', file_data: 'aGk=' })),
    "400 Invalid value: 'input_file'.",
  ],
  [
    'image.remote',
    'codex',
    push(user({ type: 'input_image', image_url: 'https://example.com/cat.png' })),
    '400 Error while downloading https://example.com/cat.png.',
  ],
];
