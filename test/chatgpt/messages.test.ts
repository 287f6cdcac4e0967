import Anthropic from '@anthropic-ai/sdk';
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { call, claudeRooms, expectGrowing, thought, thoughtItem, workIn } from '../clients/claude-session.ts';
import { CLAUDE, HAS_CLAUDE } from '../support/claude-code.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { itemsOf } from '../clients/rounds.ts';
import { shareProxy } from './hooks.ts';
import { KEY, type ChatGptProxy } from './proxy.ts';

/** The Messages API in front of a ChatGPT login. The hook checks after each test that no rule was broken. */

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

/** One model for each request format. */
const MODELS = ['gpt-5.5', 'gpt-6.1-sol'];

const rounds = () =>
  inTurn(
    says([
      thought(1),
      call('call_1', 'Bash', { command: 'echo one' }),
      call('call_2', 'Bash', { command: 'exit 2' }),
    ]),
    says([thought(2), { text: 'First.' }]),
    says([{ text: 'Second.' }]),
  );

const bodies = (): readonly JsonObject[] => proxy.backend.modelRequests.map(({ body }) => body);

const expectConversation = (): void => {
  expect(bodies()).toHaveLength(3);
  expectGrowing(bodies());
  expect(bodies()[0]?.['prompt_cache_key']).toEqual(expect.any(String));
  expect(workIn(bodies()[2]).filter(({ type }) => type !== 'additional_tools')).toMatchObject([
    withoutId(thoughtItem(1)),
    { type: 'function_call', call_id: 'call_1', arguments: '{"command":"echo one"}' },
    { type: 'function_call', call_id: 'call_2', arguments: '{"command":"exit 2"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'one' },
    {
      type: 'function_call_output',
      call_id: 'call_2',
      output: expect.stringMatching(/^Error: The tool call failed\.\n/),
    },
    withoutId(thoughtItem(2)),
    { type: 'message', role: 'assistant', content: [{ text: 'First.' }] },
  ]);
};

const withoutId = ({ id: _id, ...item }: JsonObject): JsonObject => item;

describe.each(MODELS)('a conversation with %s', (model) => {
  it.each([false, true])("of Anthropic's SDK has its tools and reasoning (stream: %s)", async (stream) => {
    proxy.backend.use(rounds());
    const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: KEY, maxRetries: 0 });
    const messages: MessageParam[] = [{ role: 'user', content: `Look around with ${model}: ${stream}.` }];
    const say = async (next: MessageParam['content']): Promise<Message> => {
      const thinking = { type: 'adaptive' as const };
      const body = { model, max_tokens: 4096, system: 'Be brief.', messages, tools: [BASH], thinking };
      const message = stream
        ? await anthropic.messages.stream(body).finalMessage()
        : await anthropic.messages.create(body);
      messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: next });
      return message;
    };
    const answers = [
      await say([
        { type: 'tool_result', tool_use_id: 'call_1', content: 'one' },
        { type: 'tool_result', tool_use_id: 'call_2', content: 'Exit code 2', is_error: true },
      ]),
      await say('Go on.'),
      await say(''),
    ];
    expect(answers.map(({ stop_reason: reason }) => reason)).toEqual(['tool_use', 'end_turn', 'end_turn']);
    expectConversation();
  });

  it.skipIf(!HAS_CLAUDE)(
    'of Claude Code has its tools and reasoning',
    { meta: { needs: CLAUDE } },
    async () => {
      proxy.backend.use(rounds());
      const room = await openRoom();
      const { code, results } = await room.talk(['Look around.', 'Go on.'], '--model', model);
      expect([code, results.map(({ result }) => result)]).toEqual([0, ['First.', 'Second.']]);
      expectConversation();
    },
  );
});

it.skipIf(!HAS_CLAUDE).each(MODELS)(
  'Claude Code loads a tool late with %s, which is declared after the others',
  { meta: { needs: CLAUDE } },
  async (model) => {
    proxy.backend.use(
      inTurn(
        says([call('call_1', 'ToolSearch', { query: 'select:CronList' })]),
        says([call('call_2', 'CronList', {})]),
        says([{ text: 'None.' }]),
      ),
    );
    const room = await openRoom();
    const { code, result } = await room.ask('Which jobs are there?', '--model', model);
    expect([code, result['result']]).toEqual([0, 'None.']);
    const names = bodies().map(namesIn);
    expect(names).toEqual([names[0], [...(names[0] ?? []), 'CronList'], names[1]]);
    expect(workIn(bodies()[2]).at(-1)).toMatchObject({ type: 'function_call_output', call_id: 'call_2' });
    expect(new Set(bodies().map(({ prompt_cache_key: key }) => key)).size).toBe(1);
  },
);

/** The names of all tools, in the order in which the model gets them. */
const namesIn = (body: JsonObject): readonly string[] =>
  [
    ...JSON.stringify([body['tools'], itemsOf(body)[0]?.['tools']]).matchAll(
      /"type":"function","name":"(\w+)"/g,
    ),
  ].map(([, name = '']) => name);

it('tells the model about a PDF in a result, and goes on', async () => {
  proxy.backend.use(hello);
  const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: KEY, maxRetries: 0 });
  const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' } as const;
  const { content } = await anthropic.messages.create({
    model: 'gpt-5.5',
    max_tokens: 1024,
    tools: [BASH],
    messages: [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'Bash', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'Read a.pdf.' },
              { type: 'document', source },
            ],
          },
        ],
      },
    ],
  });
  expect(content).toMatchObject([{ text: 'Hello from the scripted model.' }]);
  expect(workIn(bodies()[0]).at(-1)).toMatchObject({
    type: 'function_call_output',
    output: [
      { type: 'input_text', text: 'Read a.pdf.' },
      { type: 'input_text', text: expect.stringMatching(/^This file cannot be shown here: /) },
    ],
  });
});

it('refuses an image that cannot be fetched', async () => {
  const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: KEY, maxRetries: 0 });
  const url = 'https://127.0.0.1:9/a.png';
  const answer = anthropic.messages.create({
    model: 'gpt-5.5',
    max_tokens: 1024,
    messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }],
  });
  await expect(answer).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(bodies()).toEqual([]);
});

const openRoom = claudeRooms(() => ({ url: proxy.url, key: KEY }));

const BASH = {
  name: 'Bash',
  description: 'Runs a command.',
  input_schema: { type: 'object' as const, properties: { command: { type: 'string' } } },
};
