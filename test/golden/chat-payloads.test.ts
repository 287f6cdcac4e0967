import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';

import { createModelNames } from '../../src/canonical/models/model-names.ts';
import { plainValues } from '../../src/codex/capabilities/requested-fields.ts';
import { OTHER_HISTORY } from '../../src/codex/translate/fit-history.ts';
import { injectedOf, toInjectItems } from '../../src/codex/translate/inject-items.ts';
import { toThreadStart } from '../../src/codex/translate/thread-start.ts';
import { toTurnStart } from '../../src/codex/translate/turn-start.ts';
import { rpcDraft } from '../../src/engine/drivers/rpc/driver.ts';
import { chatToTurn } from '../../src/openai/chat/to-turn.ts';
import { parameterName } from '../../src/apis/parameters.ts';
import { knownModel, modelList } from '../support/models.ts';
import { NO_MCP } from '../../src/engine/mcp/mcp-tools.ts';
import { threadSettings } from '../support/thread-settings.ts';
import { turnContext } from '../support/turn-request.ts';

/** How chat requests reach the app-server, byte for byte: every role, every parameter. */

const models = createModelNames(modelList([knownModel('gpt-5.5', { efforts: ['low', 'high'] })]));
const settings = threadSettings({ workdir: '/tmp/codex-work', knows: (model) => model === 'gpt-5.5' });

const payloads = (body: object) => {
  const { request, ignored, names, isLegacy } = chatToTurn(body, {
    models,
    ignoreClientPrompt: false,
  });
  const strategy = {
    requestFormat: 'responses',
    slug: request.model,
    instructions: 'message',
    reasoning: 'kept',
    customTools: 'native',
    namespaces: 'kept',
    lateTools: 'in-place',
  } as const;
  const {
    request: drafted,
    unsaid,
    leftOut,
  } = rpcDraft({ historyRules: OTHER_HISTORY, effortsOf: () => null, mcp: NO_MCP, settings })(
    { request, context: turnContext() },
    strategy,
  );
  return {
    'thread/start': toThreadStart(request, settings, { slug: request.model }),
    'thread/inject_items': toInjectItems(injectedOf(drafted, settings, { instructions: 'message' })),
    'turn/start': toTurnStart(request, 'thread'),
    'set on the wire': [
      ...plainValues(request).map(([field, value]) => ({ field, value })),
      ...request.include.map((value) => ({ field: 'include', value })),
    ],
    'without effect where there is no relay': [...unsaid, ...leftOut].map((path) =>
      parameterName(path, names),
    ),
    'cache key': request.cache.key,
    'needs log probabilities': request.logprobs.isNeeded,
    'done by us': {
      stop: request.stop,
      maxOutputTokens: request.maxOutputTokens,
      parallelToolCalls: request.parallelToolCalls,
      toolChoice: request.toolChoice,
      format: request.format,
    },
    ignored,
    isLegacy,
  };
};

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const user = { role: 'user', content: 'hi' };
const call = (id: string, name = 'get_weather') => ({
  id,
  type: 'function',
  function: { name, arguments: '{"city": "Paris" }' },
});
const conversations: Readonly<Record<string, readonly object[]>> = {
  'system and developer in their places': [
    { role: 'system', content: 'Be brief.' },
    user,
    { role: 'developer', content: [{ type: 'text', text: 'In French.' }] },
    { role: 'user', content: 'again' },
  ],
  'a user in parts, which stay apart': [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: '' },
        { type: 'image_url', image_url: { url: PIXEL, detail: 'high' } },
        { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'file', file: { filename: 'a.md', file_data: 'data:text/markdown;base64,IyBIaQ==' } },
      ],
    },
  ],
  'an assistant in text, in parts, and refusing': [
    user,
    { role: 'assistant', content: 'Hello.' },
    user,
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'First.' },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    user,
    { role: 'assistant', content: null, refusal: 'I will not.' },
    user,
    { role: 'assistant', content: '' },
    user,
  ],
  'an assistant first': [{ role: 'assistant', content: '# Autonomous Agent Mode' }, user],
  'names, which have no place': [
    { role: 'system', content: 's', name: 'boss' },
    { role: 'user', content: 'u', name: 'ann' },
    { role: 'assistant', content: 'a', name: 'bob' },
    { ...user, name: '' },
  ],
  'tool calls and their outputs': [
    user,
    { role: 'assistant', content: 'Looking.', tool_calls: [call('call_1'), call('call_2', 'get_time')] },
    { role: 'tool', tool_call_id: 'call_2', content: '12:00' },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'rain' }] },
  ],
  'a custom call': [
    user,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ],
  'legacy function calls': [
    user,
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    { role: 'function', name: 'f', content: 'one' },
    { role: 'assistant', content: 'Again.', function_call: { name: 'f', arguments: '{"x":1}' } },
    { role: 'function', name: 'f', content: null },
  ],
  'an answer of ours that comes back whole': [
    user,
    {
      role: 'assistant',
      content: null,
      refusal: null,
      annotations: [],
      audio: null,
      function_call: null,
      reasoning_content: '**Thinking**',
      reasoning: '**Thinking**',
      tool_calls: [{ index: 0, ...call('call_1') }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain', name: 'get_weather' },
  ],
};

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather.',
    parameters: { type: 'object', properties: { city: { type: 'string', minLength: 1 } } },
    strict: true,
  },
};
const NOW = { type: 'function', function: { name: 'now' } };
const tools = [WEATHER, NOW];
const parameters: Readonly<Record<string, object>> = {
  model: { model: 'gpt-5.5-high' },
  'model that is not listed': { model: 'other', verbosity: 'high' },
  prompt: { messages: [{ role: 'system', content: 'Be brief.' }], prompt: 'hi' },
  'prompt alone': { messages: undefined, prompt: 'hi' },
  'prompt in addition to messages': { prompt: 'ignored' },
  stream: { stream: true, stream_options: { include_usage: true, include_obfuscation: true } },
  n: { n: 8 },
  max_tokens: { max_tokens: 30 },
  max_completion_tokens: { max_completion_tokens: 1 },
  'stop, one': { stop: 'END' },
  'stop, several': { stop: ['a', 'b', 'c', 'd'] },
  'response_format text': { response_format: { type: 'text' } },
  'response_format json_object': { response_format: { type: 'json_object' } },
  'response_format json_schema': {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'answer', description: 'd', strict: true, schema: { type: 'object' } },
    },
  },
  tools: { tools },
  'tool_choice none': { tools, tool_choice: 'none' },
  'tool_choice required': { tools, tool_choice: 'required' },
  'tool_choice function': { tools, tool_choice: { type: 'function', function: { name: 'now' } } },
  'tool_choice allowed_tools': {
    tools,
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [NOW] } },
  },
  parallel_tool_calls: { tools, parallel_tool_calls: false },
  functions: { functions: [WEATHER.function], function_call: 'auto' },
  function_call: { functions: [NOW.function], function_call: { name: 'now' } },
  reasoning_effort: { reasoning_effort: 'low' },
  reasoning: { reasoning: { effort: 'high', summary: 'detailed' } },
  verbosity: { verbosity: 'low' },
  temperature: { temperature: 0 },
  'temperature and top_p of 1': { temperature: 1, top_p: 1 },
  top_p: { top_p: 0.5 },
  penalties: { presence_penalty: -2, frequency_penalty: 2 },
  'penalties of 0': { presence_penalty: 0, frequency_penalty: 0 },
  seed: { seed: 7 },
  logit_bias: { logit_bias: { '50256': -100 } },
  logprobs: { logprobs: true, top_logprobs: 3 },
  'logprobs off': { logprobs: false, top_logprobs: 0 },
  service_tier: { service_tier: 'flex' },
  'what the answer does not show': {
    metadata: { a: 'b' },
    user: 'ann',
    safety_identifier: 's',
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
  },
  prompt_cache_options: { prompt_cache_options: { mode: 'explicit' } },
  store: { store: true },
  'modalities and audio': { modalities: ['text'], audio: { voice: 'ash', format: 'wav' } },
  prediction: { prediction: { type: 'content', content: 'like this' } },
  moderation: { moderation: { model: 'x' } },
  'nulls everywhere': {
    stream: null,
    n: null,
    max_tokens: null,
    stop: null,
    temperature: null,
    tools: null,
    tool_choice: null,
    response_format: null,
    reasoning: null,
    metadata: null,
    functions: null,
    function_call: null,
    web_search_options: null,
  },
  'unknown fields': { thinking: { type: 'enabled' }, reasoning: { max_tokens: 5 } },
};

const plain = { model: 'gpt-5.5', messages: [user] };

/** The difference from the plain request. */
const changed = (body: object): object => {
  const before: Readonly<Record<string, unknown>> = payloads(plain);
  const after = Object.entries(payloads(body));
  return Object.fromEntries(after.filter(([name, value]) => !isDeepStrictEqual(value, before[name])));
};

it('sends a plain request', () => {
  expect(payloads(plain)).toMatchSnapshot();
});

describe('messages', () => {
  it.each(Object.entries(conversations))('%s', (_, messages) => {
    expect(changed({ ...plain, messages })).toMatchSnapshot();
  });
});

describe('parameters', () => {
  it.each(Object.entries(parameters))('%s', (_, some) => {
    expect(changed({ ...plain, ...some })).toMatchSnapshot();
  });
});
