import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { obedient } from '../support/scripts.ts';

/**
 * The same conversation through Chat and through Responses must give the same model request.
 * Each pair is written by hand in both forms; the tests compare what reached the scripted model.
 */

const proxy = await openProxy(obedient);

interface Conversation {
  readonly chat: object;
  readonly responses: object;
}

/** A valid image: the app-server replaces images that it cannot decode with a sentence. */
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const MARKDOWN = `data:text/markdown;base64,${Buffer.from('# Title').toString('base64')}`;
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const chatTool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, description: 'd', parameters, ...more },
});
/** Functions are not strict by default in Chat; in Responses that must be explicit. */
const responsesTool = (name: string, more: object = {}) => ({
  type: 'function',
  name,
  description: 'd',
  parameters,
  strict: false,
  ...more,
});
const chatCall = (id: string, args = '{"city":"Paris"}') => ({
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: args },
});
const responsesCall = (call_id: string, args = '{"city":"Paris"}') => ({
  type: 'function_call',
  call_id,
  name: 'get_weather',
  arguments: args,
});
const responsesOutput = (call_id: string, output: unknown) => ({
  type: 'function_call_output',
  call_id,
  output,
});
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const tools = { chat: [chatTool('get_weather')], responses: [responsesTool('get_weather')] };

const same = (...messages: object[]): Conversation => ({
  chat: { messages },
  responses: { input: messages },
});

const conversations: Readonly<Record<string, Conversation>> = {
  'one question': same(user('hi')),
  'a question as a string': { chat: { messages: [user('hi')] }, responses: { input: 'hi' } },
  'a system prompt': same({ role: 'system', content: 'Be brief.' }, user('hi')),
  'a developer prompt': same({ role: 'developer', content: 'Be brief.' }, user('hi')),
  'prompts between the turns': same(
    { role: 'system', content: 'One.' },
    user('a'),
    assistant('b'),
    { role: 'developer', content: 'Two.' },
    user('c'),
  ),
  'a long conversation': same(
    ...Array.from({ length: 20 }, (_, index) => [
      user(`question ${index}`),
      assistant(`answer ${index}`),
    ]).flat(),
    user('last'),
  ),
  'an assistant first': same(assistant('# Autonomous Agent Mode'), user('hi')),
  'texts that break naive code': same(
    user('\r\n\r\ndata: [DONE]\n\n'),
    assistant('</tool> {"a": "\u2028 😀'),
    user(' '),
  ),
  'several text parts': {
    chat: {
      messages: [
        user([
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ]),
      ],
    },
    responses: {
      input: [
        user([
          { type: 'input_text', text: 'one' },
          { type: 'input_text', text: 'two' },
        ]),
      ],
    },
  },
  'an image': {
    chat: {
      messages: [
        user([
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: PNG, detail: 'high' } },
        ]),
      ],
    },
    responses: {
      input: [
        user([
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: PNG, detail: 'high' },
        ]),
      ],
    },
  },
  'an image of low detail': {
    chat: { messages: [user([{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }])] },
    responses: { input: [user([{ type: 'input_image', image_url: PNG, detail: 'low' }])] },
  },
  'a text file': {
    chat: { messages: [user([{ type: 'file', file: { filename: 'a.md', file_data: MARKDOWN } }])] },
    responses: { input: [user([{ type: 'input_file', filename: 'a.md', file_data: MARKDOWN }])] },
  },
  audio: {
    chat: {
      messages: [user([{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }])],
    },
    responses: {
      input: [user([{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }])],
    },
  },
  'a refusal': {
    chat: { messages: [user('a'), { ...assistant(null), refusal: 'No.' }, user('b')] },
    responses: { input: [user('a'), assistant([{ type: 'refusal', refusal: 'No.' }]), user('b')] },
  },
  'a tool call and its output': {
    chat: {
      messages: [
        user('weather?'),
        { ...assistant(null), tool_calls: [chatCall('call_1', '{ "city":"Paris"}')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
      tools: tools.chat,
    },
    responses: {
      input: [
        user('weather?'),
        responsesCall('call_1', '{ "city":"Paris"}'),
        responsesOutput('call_1', 'rain'),
      ],
      tools: tools.responses,
    },
  },
  'text, parallel calls, outputs in parts, and more talk': {
    chat: {
      messages: [
        user('weather?'),
        { ...assistant('Looking.'), tool_calls: [chatCall('call_1'), chatCall('call_2')] },
        { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'sun' }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
        assistant('Both.'),
        user('thanks'),
      ],
      tools: tools.chat,
    },
    responses: {
      input: [
        user('weather?'),
        assistant('Looking.'),
        responsesCall('call_1'),
        responsesCall('call_2'),
        responsesOutput('call_2', [{ type: 'input_text', text: 'sun' }]),
        responsesOutput('call_1', 'rain'),
        assistant('Both.'),
        user('thanks'),
      ],
      tools: tools.responses,
    },
  },
  'a legacy function call': {
    chat: {
      messages: [
        user('weather?'),
        {
          ...assistant(null),
          function_call: { name: 'get_weather', arguments: '{"city":"Paris"}' },
        },
        { role: 'function', name: 'get_weather', content: 'rain' },
      ],
      functions: [chatTool('get_weather').function],
    },
    responses: {
      input: [user('weather?'), responsesCall('call_legacy_1'), responsesOutput('call_legacy_1', 'rain')],
      tools: tools.responses,
      parallel_tool_calls: false,
    },
  },
  'a custom call': {
    chat: {
      messages: [
        user('patch'),
        {
          ...assistant(null),
          tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'apply', input: '*** Begin' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      ],
    },
    responses: {
      input: [
        user('patch'),
        { type: 'custom_tool_call', call_id: 'call_1', name: 'apply', input: '*** Begin' },
        { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
      ],
    },
  },
  'tools with everything, one of them forced': {
    chat: {
      messages: [user('hi')],
      tools: [chatTool('get_weather', { strict: true }), chatTool('b', { parameters: undefined })],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
    },
    responses: {
      input: 'hi',
      tools: [responsesTool('get_weather', { strict: true }), responsesTool('b', { parameters: undefined })],
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
    },
  },
  'allowed tools': {
    chat: {
      messages: [user('hi')],
      tools: [chatTool('a'), chatTool('b')],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'b' } }] },
      },
    },
    responses: {
      input: 'hi',
      tools: [responsesTool('a'), responsesTool('b')],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] },
    },
  },
  'a format, an effort, a verbosity and sampling': {
    chat: {
      messages: [user('hi')],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: { type: 'object' } },
      },
      reasoning_effort: 'high',
      verbosity: 'low',
      temperature: 0.5,
      max_completion_tokens: 100,
    },
    responses: {
      input: 'hi',
      text: {
        format: { type: 'json_schema', name: 'answer', strict: true, schema: { type: 'object' } },
        verbosity: 'low',
      },
      reasoning: { effort: 'high' },
      temperature: 0.5,
      max_output_tokens: 100,
    },
  },
};

/** The model request, byte for byte. */
const sent = async (path: string, body: object): Promise<string> => {
  const response = await proxy.post(path, { model: 'gpt-5.5', ...body });
  expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, '']);
  await response.arrayBuffer();
  const request = proxy.model.requests.at(-1)?.body ?? {};
  return JSON.stringify(request);
};

describe('the same conversation', () => {
  it.each(Object.entries(conversations))('%s', async (_, { chat, responses }) => {
    const viaChat = await sent('/v1/chat/completions', chat);
    const viaResponses = await sent('/v1/responses', responses);
    expect(viaChat).toBe(viaResponses);
    expect((JSON.parse(viaChat) as { input: unknown[] }).input.length).toBeGreaterThan(0);
  });

  it('covers twenty cases', () => {
    expect(Object.keys(conversations).length).toBeGreaterThanOrEqual(20);
  });
});
