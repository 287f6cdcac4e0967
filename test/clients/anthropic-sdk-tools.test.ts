import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, inTurn, says, slow } from '../support/scripts.ts';
import { expectGrowing, watch } from './claude-session.ts';
import { ANSWER, itemsOf, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** The loops, streams and parsers of Anthropic's SDK with the real app-server. */

const stored = await openProxy(hello);
const storeless = await openProxy(hello, { PROXY_STORE: 'off', PROXY_SSE_KEEPALIVE_MS: '20' });

const MODEL = 'claude-opus-5-5';
const weather = betaZodTool({
  name: 'get_weather',
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  run: ({ city }) => weatherIn(city),
});
const QUESTIONS = {
  model: MODEL,
  max_tokens: 1024,
  system: 'Be brief.',
  messages: [{ role: 'user' as const, content: QUESTION }],
  tools: [weather],
};

interface Watched {
  readonly client: Anthropic;
  /** The bodies that the SDK sent, and the status of each answer. */
  readonly asked: readonly (JsonObject & { readonly status: number })[];
}

/** `change` alters bodies on their way. */
const clientOf = ({ url, key }: TestProxy, change: (body: string) => string = (body) => body): Watched => {
  const asked: (JsonObject & { readonly status: number })[] = [];
  const client = new Anthropic({
    baseURL: url,
    apiKey: key,
    maxRetries: 0,
    fetch: async (at, init) => {
      const body = init?.body as string;
      const answer = await fetch(at, { ...init, body: change(body) });
      asked.push({ ...(JSON.parse(body) as JsonObject), status: answer.status });
      return answer;
    },
  });
  return { client, asked };
};

const threadsOf = ({ asked }: Watched) => asked.map(({ thread, status }) => [thread, status]);

/** Runs the loop to its end, and returns its last text. */
const run = async (client: Anthropic, stream: boolean, more: object = {}): Promise<string> => {
  const { content } = await client.beta.messages.toolRunner({ ...QUESTIONS, ...more, stream }).runUntilDone();
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
};

describe.each([false, true])('tools that Anthropic defines and the client runs (stream: %s)', (stream) => {
  it('are called by the model, with the memory of the SDK', async () => {
    const input = { command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: 'Rain.' };
    const sent = watch(
      stored,
      inTurn(says([{ call: { name: 'memory', arguments: input, callId: 'call_m' } }]), hello),
    );
    const kept: unknown[] = [];
    const other = () => 'unused';
    const memory = betaMemoryTool({
      insert: (command) => {
        kept.push(command);
        return 'Inserted.';
      },
      view: other,
      create: other,
      str_replace: other,
      delete: other,
      rename: other,
    });
    const bash = { type: 'bash_20250124' as const, name: 'bash' as const };
    expect(await run(clientOf(stored).client, stream, { tools: [memory, bash] })).toBe(
      'Hello from the scripted model.',
    );
    expect(kept).toEqual([input]);
    expect(
      sent().map(({ tools }) => (tools as readonly JsonObject[]).map(({ type, name }) => [type, name])),
    ).toEqual(
      Array.from({ length: 2 }, () => [
        ['function', 'memory'],
        ['function', 'bash'],
      ]),
    );
    expect(itemsOf(sent().at(-1) ?? {}).slice(-2)).toMatchObject([
      { type: 'function_call', call_id: 'call_m', name: 'memory' },
      { type: 'function_call_output', call_id: 'call_m', output: 'Inserted.' },
    ]);
  });

  it('can be chosen by name, and come back from any client', async () => {
    const sent = watch(stored, hello);
    const name = 'str_replace_based_edit_tool';
    const body = {
      model: MODEL,
      max_tokens: 100,
      tools: [
        {
          type: 'text_editor_20250728' as const,
          name: 'str_replace_based_edit_tool' as const,
          max_characters: 900,
        },
      ],
      messages: [
        { role: 'user' as const, content: 'Look.' },
        {
          role: 'assistant' as const,
          content: [
            { type: 'tool_use' as const, id: 'toolu_1', name, input: { command: 'view', path: '/a' } },
          ],
        },
        {
          role: 'user' as const,
          content: [{ type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'a' }],
        },
      ],
    };
    const { client } = clientOf(stored);
    if (stream) await client.messages.stream(body).finalMessage();
    else await client.messages.create(body);
    expect(itemsOf(sent().at(-1) ?? {}).slice(1)).toMatchObject([
      { type: 'function_call', name, arguments: '{"command":"view","path":"/a"}' },
      { type: 'function_call_output', output: 'a' },
    ]);
    const call = { name, arguments: { command: 'view', path: '/b' }, callId: 'call_e' };
    const chosen = watch(stored, says([{ call }]));
    const { content } = await client.messages.create({ ...body, tool_choice: { type: 'tool', name } });
    expect(content).toMatchObject([{ type: 'tool_use', id: 'call_e', name, input: call.arguments }]);
    expect(chosen().at(-1)?.['tool_choice']).toEqual({ type: 'function', name });
  });
});

describe.each([false, true])('toolRunner (stream: %s)', (stream) => {
  const CONTINUE = { type: 'continue', previous_message_id: expect.stringMatching(/^msg_/) };

  it('sends only what is new: the server has the thread', async () => {
    const sent = watch(stored, threeRounds);
    const watched = clientOf(stored);
    expect(await run(watched.client, stream)).toBe(ANSWER);
    expect(threadsOf(watched)).toEqual([
      [{ type: 'create' }, 200],
      [CONTINUE, 200],
      [CONTINUE, 200],
    ]);
    expect(watched.asked.map(({ messages }) => (messages as readonly unknown[]).length)).toEqual([1, 1, 1]);
    expect(keepsThought(sent())).toBe(true);
    const types = itemsOf(sent().at(-1) ?? {}).map(({ role, type }) => role ?? type);
    expect(types.filter((type) => type !== 'developer' && type !== 'system')).toEqual([
      'user',
      'reasoning',
      'function_call',
      'function_call_output',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ]);
    for (const body of sent()) {
      expect(JSON.stringify([body['instructions'], body['input']])).toContain('Be brief.');
      expect(body['tools']).toEqual(sent()[0]?.['tools']);
      expect(body['prompt_cache_key']).toBe(sent()[0]?.['prompt_cache_key']);
    }
  });

  it('sends everything again to a server without a store', async () => {
    const sent = watch(storeless, threeRounds);
    const watched = clientOf(storeless);
    expect(await run(watched.client, stream)).toBe(ANSWER);
    expect(threadsOf(watched)).toEqual([
      [{ type: 'create' }, 400],
      [undefined, 200],
      [undefined, 200],
      [undefined, 200],
    ]);
    expect(keepsThought(sent())).toBe(true);
  });

  it('completes without threads', async () => {
    const sent = watch(storeless, threeRounds);
    expect(await run(clientOf(storeless).client, stream, { thread: false })).toBe(ANSWER);
    expect(sent()).toHaveLength(3);
  });
});

it('a thread that the server has lost is replayed', async () => {
  const sent = watch(stored, threeRounds);
  let lost = 0;
  const watched = clientOf(stored, (body) =>
    body.replace(/"previous_message_id":"msg_/, (id) => (++lost === 1 ? `${id}lost` : id)),
  );
  expect(await run(watched.client, false)).toBe(ANSWER);
  expect(watched.asked.map(({ thread, status }) => [(thread as JsonObject)['type'], status])).toEqual([
    ['create', 200],
    ['continue', 404],
    ['create', 200],
    ['continue', 200],
  ]);
  expect(sent()).toHaveLength(3);
  expect(keepsThought(sent())).toBe(true);
});

it('a conversation of turns goes on in its thread', async () => {
  const sent = watch(
    stored,
    inTurn(says([{ reasoning: { summary: ['Hm.'], encrypted: 'sealed' } }, { text: 'One.' }]), hello),
  );
  const { client } = clientOf(stored);
  const thread = client.beta.messages.thread({ model: MODEL, max_tokens: 1024, system: 'Be brief.' });
  await thread.send({ role: 'user', content: 'First?' });
  const { content } = await thread.send({ role: 'user', content: 'Second?' });
  expect(content).toMatchObject([{ text: 'Hello from the scripted model.' }]);
  // The reasoning was not shown, but the server has it.
  expect(itemsOf(sent()[1] ?? {}).map((item) => item['role'] ?? item['encrypted_content'])).toEqual([
    'system',
    'user',
    'sealed',
    'assistant',
    'user',
  ]);
  expectGrowing(sent());
});

it('a stream has pings while the model is silent, which the SDK skips', async () => {
  watch(storeless, slow(100));
  const { client } = clientOf(storeless);
  const ask = { model: MODEL, max_tokens: 1024, messages: [{ role: 'user' as const, content: 'Count.' }] };
  const { content } = await client.messages.stream(ask).finalMessage();
  expect(content).toMatchObject([{ type: 'text', text: 'one two three four five' }]);
  const raw = await client.messages.create({ ...ask, stream: true }).asResponse();
  expect(await raw.text()).toContain('event: ping\ndata: {"type":"ping"}\n\n');
});

describe('parse', () => {
  const { client } = clientOf(stored);
  const answer = says([{ text: '{"colour":"red","count":3}' }]);
  const ask = { model: MODEL, max_tokens: 1024, messages: [{ role: 'user' as const, content: 'Which?' }] };
  const properties = { colour: { type: 'string' }, count: { type: 'number' } } as const;
  const expectFormat = (body: JsonObject | undefined): void =>
    expect(body?.['text']).toMatchObject({
      format: { type: 'json_schema', strict: true, schema: { type: 'object', properties } },
    });

  it('returns what a Zod schema describes', async () => {
    const sent = watch(stored, answer);
    const format = zodOutputFormat(z.object({ colour: z.string(), count: z.number() }));
    const { parsed_output: parsed } = await client.messages.parse({ ...ask, output_config: { format } });
    expect(parsed).toEqual({ colour: 'red', count: 3 });
    expectFormat(sent()[0]);
  });

  it('returns what a JSON schema describes, also from a stream', async () => {
    const sent = watch(stored, answer);
    const format = jsonSchemaOutputFormat({
      type: 'object',
      properties,
      required: ['colour', 'count'],
      additionalProperties: false,
    });
    const stream = client.messages.stream({ ...ask, output_config: { format } });
    expect((await stream.finalMessage()).parsed_output).toEqual({ colour: 'red', count: 3 });
    expectFormat(sent()[0]);
  });
});
