import { describe, expect, it } from 'vitest';

import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { chatToTurn as readChat } from '../../src/openai/chat/to-turn.ts';
import { fieldProblems } from '../support/field-problems.ts';
import { holds, sentFor, type Sent } from '../support/read-and-sent.ts';
import type { FieldWalk } from '../support/request-fields.ts';
import { models, read as readResponses } from '../support/responses-ask.ts';
import { typeOf } from '../support/sdk-types.ts';

/**
 * Every field of the request types of the installed `openai` package reaches a provider, or is in a table below with
 * the reason why it does not. A new version of the package with a new field fails here.
 */

const CALL = { type: 'function_call', call_id: 'call_1', name: 's', arguments: '{}' };
const CUSTOM_CALL = { type: 'custom_tool_call', call_id: 'call_1', name: 's', input: '' };
/** Items that an item needs around it, by type. */
const BEFORE: Readonly<Record<string, JsonObject>> = {
  function_call_output: CALL,
  custom_tool_call_output: CUSTOM_CALL,
};
const AFTER: Readonly<Record<string, JsonObject>> = {
  function_call: { type: 'function_call_output', call_id: 'call_1', output: '' },
  custom_tool_call: { type: 'custom_tool_call_output', call_id: 'call_1', output: '' },
};

const typeIn = (value: Json | undefined): string =>
  isJsonObject(value) && typeof value['type'] === 'string' ? value['type'] : '';

const listed = (one: JsonObject | undefined): readonly JsonObject[] => (one === undefined ? [] : [one]);

/** The tool that a choice names. */
const chosen = (choice: Json | undefined): JsonObject => {
  if (choice === undefined) return {};
  const type = typeIn(choice);
  const isWord = type === '' || type === 'allowed_tools';
  const server = type === 'mcp' ? { server_label: 's', server_url: 'https://mcp.test/' } : {};
  return { tools: [{ type: isWord ? 'function' : type, name: 's', ...server }] };
};

const sendResponses = (body: JsonObject): Sent => {
  const { input = 'hi', ...rest } = body;
  const type = Array.isArray(input) ? typeIn((input as readonly Json[])[0]) : '';
  const items = Array.isArray(input)
    ? [
        { role: 'user', content: 'Hi.' },
        ...listed(BEFORE[type]),
        ...(input as readonly Json[]),
        ...listed(AFTER[type]),
      ]
    : input;
  return sentFor(() =>
    readResponses({ model: 'gpt-6', ...chosen(rest['tool_choice']), ...rest, input: items }),
  );
};

/** Messages that a message of a role needs around it. */
const MESSAGES_BEFORE: Readonly<Record<string, JsonObject>> = {
  tool: {
    role: 'assistant',
    tool_calls: [{ id: 's', type: 'function', function: { name: 's', arguments: '{}' } }],
  },
  function: { role: 'assistant', function_call: { name: 's', arguments: '{}' } },
};
const answersTo = (message: Json | undefined): readonly JsonObject[] => {
  if (!isJsonObject(message)) return [];
  if (isJsonObject(message['function_call'])) return [{ role: 'function', name: 's', content: '' }];
  return Array.isArray(message['tool_calls']) ? [{ role: 'tool', tool_call_id: 's', content: '' }] : [];
};

const sendChat = (body: JsonObject): Sent => {
  const { messages, ...rest } = body;
  const [message = null] = messages as readonly Json[];
  const role = isJsonObject(message) && typeof message['role'] === 'string' ? message['role'] : '';
  const whole = {
    ...chosen(rest['tool_choice']),
    ...(rest['function_call'] === undefined ? {} : { functions: [{ name: 's' }] }),
    ...(rest['stream_options'] === undefined ? {} : { stream: true }),
    ...(rest['top_logprobs'] === undefined ? {} : { logprobs: true }),
    ...rest,
    model: 'gpt-6',
    messages: [
      { role: 'user', content: 'Hi.' },
      ...listed(MESSAGES_BEFORE[role]),
      message,
      ...answersTo(message),
    ],
  };
  return sentFor(() => readChat(whole, { models, ignoreClientPrompt: false }));
};

const NOT_STORED = 'Refused by name: nothing is stored here yet.';
const NOT_THE_MODELS = 'It comes back with an output item, and says nothing to the model.';
const NO_MODERATION =
  'Named as ignored: no moderation is run here, and no answer has a place for its findings.';
const OWN_ANSWER = 'It is about the form of our own answer. A backend is always asked for a stream.';
const NO_OBFUSCATION = 'Named as ignored where it is true: nothing is obfuscated.';

const RESPONSES_EXCEPTIONS: Readonly<Record<string, string>> = {
  background: NOT_STORED,
  conversation: NOT_STORED,
  previous_response_id: NOT_STORED,
  prompt: NOT_STORED,
  'input[item_reference]': NOT_STORED,
  store: 'Named as ignored where it is true: nothing is stored here yet.',
  stream: OWN_ANSWER,
  'stream_options.include_obfuscation': NO_OBFUSCATION,
  moderation: NO_MODERATION,
  'text.format(text)': 'It asks for what happens anyway.',
  'input[message].type': 'An item without a type is a message anyway.',
  'input[message].status': NOT_THE_MODELS,
  'input[message].content[output_text].logprobs': NOT_THE_MODELS,
  'input[function_call].status': NOT_THE_MODELS,
  'input[function_call_output].status': NOT_THE_MODELS,
  'input[reasoning].status': NOT_THE_MODELS,
};

const NO_NAME = 'Named as ignored: no item of the Responses API has a place for it.';

const CHAT_EXCEPTIONS: Readonly<Record<string, string>> = {
  stream: OWN_ANSWER,
  'stream_options.include_usage': OWN_ANSWER,
  'stream_options.include_obfuscation': NO_OBFUSCATION,
  n: 'Each choice is a request of its own.',
  'response_format(text)': 'It asks for what happens anyway.',
  stop: 'Done here: the Responses API has no such field.',
  store: 'Named as ignored where it is true: nothing is stored here.',
  audio: 'Named as ignored: only text is answered.',
  modalities: '`audio` is refused by name: only text is answered.',
  'messages[assistant].audio': 'Refused by name: audio answers are not stored here.',
  logit_bias: 'Named as ignored: the Responses API has no such field.',
  prediction: 'Named as ignored: the Responses API has no such field.',
  moderation: NO_MODERATION,
  'messages[developer].name': NO_NAME,
  'messages[system].name': NO_NAME,
  'messages[user].name': NO_NAME,
  'messages[assistant].name': NO_NAME,
  'messages[assistant].content[text].prompt_cache_breakpoint':
    'Named as ignored: the Responses API has no place for it in what the assistant said.',
};

interface Api {
  readonly file: string;
  readonly type: string;
  readonly send: (body: JsonObject) => Sent;
  readonly exceptions: Readonly<Record<string, string>>;
}

const APIS: Readonly<Record<string, Api>> = {
  Responses: {
    file: 'responses/responses.d.ts',
    type: 'ResponseCreateParamsBase',
    send: sendResponses,
    exceptions: RESPONSES_EXCEPTIONS,
  },
  'Chat Completions': {
    file: 'chat/completions/completions.d.ts',
    type: 'ChatCompletionCreateParamsBase',
    send: sendChat,
    exceptions: CHAT_EXCEPTIONS,
  },
};

const NAMED = [{ type: 'function', name: 's' }];

const walkOf = (send: Api['send']): FieldWalk => ({
  values: {
    call_id: 'call_1',
    max_output_tokens: 16,
    max_completion_tokens: 16,
    max_tokens: 16,
    compact_threshold: 1000,
    logit_bias: { 1: 1 },
    'allowed_tools.tools': NAMED,
    '.allowed_tools.tools': NAMED,
  },
  needed: {
    input_image: { image_url: 'https://images.test/a.png' },
    input_file: { file_id: 'file-1' },
    function_call_output: { call_id: 'call_1' },
    mcp: { server_url: 'https://mcp.test/' },
    '.file': { file_id: 'file-1' },
    '.json_schema': { schema: {} },
    reasoning: { encrypted_content: 'e' },
    assistant: { content: 's' },
    tool: { tool_call_id: 's' },
  },
  isCarried(bodyWith, sample) {
    const marked = { ...sample, not_a_field: { deep: [null, 'x'] } };
    const sent = send(bodyWith(marked));
    return sent.kind === 'sent' && holds(sent.body, marked);
  },
});

describe.each(Object.entries(APIS))('%s', (_, { file, type, send, exceptions }) => {
  it('every field reaches a provider, except for the listed ones', () => {
    const check = { send, exceptions, walk: walkOf(send) };
    expect(
      fieldProblems(typeOf('openai', file, type), check),
      'Every field of the SDK reaches a provider. Add the field (CONTRIBUTING: add a field to a request), or list it in this file with what happens to it.',
    ).toEqual({ problems: [], unused: [] });
  });
});
