import { readFileSync } from 'node:fs';
import type OpenAI from 'openai';
import type { FunctionTool, ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, afterEach, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello, HELLO_USAGE, inTurn, says } from '../support/scripts.ts';
import { openCheckedChat } from './chat-checked.ts';
import { checkedClient } from './responses-checked.ts';
import { sentBody, sentItems } from './responses-sent.ts';
import { shownBy } from './shown-answers.ts';

/** Tools described in prose, on the real app-server, for clients that do not notice it. */

const { proxy, client: chat } = await openCheckedChat(hello, { PROXY_TOOL_TRANSPORT: 'prose' });
const responses = checkedClient(proxy);
afterEach(() => responses.check());
afterAll(() => responses.close());
const startFresh = freshProxies();

const INSTRUCTIONS = readFileSync(
  new URL('../golden/prose-instructions.txt', import.meta.url),
  'utf8',
).trimEnd();

const WEATHER: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Where.' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    },
    required: ['city'],
  },
};
const TIME: FunctionTool = { type: 'function', name: 'get_time', strict: true, parameters: null };

const block = (name: string, args: string): string =>
  `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
const PARIS = block('get_weather', '{"city": "Paris"}');
const OSLO = block('get_weather', '{"city":"Oslo"}');

/** Writes the text in small pieces, so that every tag is split. */
const writes = (text: string, ...more: readonly ScriptStep[]): Script =>
  says([{ text, chunkSize: 3 }, ...more], { usage: HELLO_USAGE });

const message = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
});

describe('the chat loop of OpenAI’s own client', () => {
  const tool = (calls: unknown[]) => ({
    type: 'function' as const,
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: WEATHER.parameters ?? {},
      parse: JSON.parse,
      function: (args: { city: string }) => {
        calls.push(args);
        return `rain in ${args.city}`;
      },
    },
  });
  const rounds = (): Script =>
    inTurn(writes(`Let me look.\n${PARIS}\n${OSLO}`), writes(`\n${PARIS}`), writes('It rains.'));

  it.each(['as JSON', 'as a stream'])('completes several rounds, %s', async (how) => {
    proxy.use(rounds());
    const calls: unknown[] = [];
    const body = {
      model: 'gpt-5.5',
      messages: [{ role: 'user' as const, content: 'Hi' }],
      tools: [tool(calls)],
    };
    const runner =
      how === 'as JSON'
        ? chat.openai.chat.completions.runTools(body)
        : chat.openai.chat.completions.runTools({ ...body, stream: true });
    expect(await runner.finalContent()).toBe('It rains.');
    expect(calls).toEqual([{ city: 'Paris' }, { city: 'Oslo' }, { city: 'Paris' }]);
    const ids = runner.messages.flatMap((one) => ('tool_call_id' in one ? [one.tool_call_id] : []));
    expect(new Set(ids).size).toBe(3);
    const [first, second, third] = ids;
    expect(sentItems(proxy.model).slice(1)).toEqual([
      message('user', 'Hi'),
      message('assistant', `Let me look.\n${PARIS}\n${OSLO}`),
      message(
        'user',
        `<tool_result name="get_weather" call_id="${first}">rain in Paris</tool_result>\n<tool_result name="get_weather" call_id="${second}">rain in Oslo</tool_result>`,
      ),
      message('assistant', PARIS),
      message('user', `<tool_result name="get_weather" call_id="${third}">rain in Paris</tool_result>`),
    ]);
    expect(sentBody(proxy.model)['tools']).toEqual(undefined);
  });
});

describe('a response', () => {
  const ask = { model: 'gpt-5.5', input: 'Hi', tools: [WEATHER, TIME] };
  const expected = [
    { type: 'message', content: [{ text: 'Let me look.\n' }] },
    { type: 'function_call', status: 'completed', name: 'get_weather', arguments: '{"city": "Paris"}' },
  ];

  it('has the calls of the model and none of its tags, as JSON and as a stream', async () => {
    proxy.use(writes(`Let me look.\n${PARIS}\n`));
    const whole = await responses.openai.responses.create(ask);
    expect(whole.output).toMatchObject(expected);
    expect(whole.output[1]).toMatchObject({
      id: expect.stringMatching(/^fc_/) as unknown,
      call_id: expect.stringMatching(/^call_/) as unknown,
    });
    expect(whole.usage).toMatchObject({ input_tokens: HELLO_USAGE.inputTokens });
    const streamed = await responses.openai.responses.stream(ask).finalResponse();
    expect(streamed.output).toMatchObject(expected);
    const deltas = (await responses.lastEvents()).flatMap((event) =>
      String(event['type']).endsWith('.delta') ? [event['delta']] : [],
    );
    expect(deltas.join('')).toBe('Let me look.\n{"city": "Paris"}');
  });

  it('is requested with the whole description first, and without tools, choice or parallel calls', async () => {
    proxy.use(writes('Hello.'));
    await responses.openai.responses.create({
      ...ask,
      instructions: 'Be brief.',
      parallel_tool_calls: false,
    });
    const { input, tools, tool_choice, parallel_tool_calls, instructions } = sentBody(proxy.model);
    expect({ tools, tool_choice, parallel_tool_calls, instructions }).toEqual({ instructions: 'Be brief.' });
    expect(sentItems(proxy.model)).toEqual([message('developer', INSTRUCTIONS), message('user', 'Hi')]);
    expect(input).toHaveLength(2);
  });

  it('can be looped with its own output as input, also with images in outputs', async () => {
    proxy.use(inTurn(writes(PARIS), writes('A map.')));
    const first = await responses.openai.responses.create(ask);
    const call = first.output.find((item) => item.type === 'function_call');
    const image = `data:image/png;base64,${PIXEL}`;
    const input = [
      { role: 'user', content: 'Hi' },
      ...first.output,
      {
        type: 'function_call_output',
        call_id: call?.call_id,
        output: [
          { type: 'input_text', text: 'a map' },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ],
      },
      { role: 'user', content: 'And now?' },
    ] as ResponseInputItem[];
    const second = await responses.openai.responses.create({ ...ask, input });
    expect(second.output_text).toBe('A map.');
    expect(sentItems(proxy.model).slice(1)).toEqual([
      message('user', 'Hi'),
      message('assistant', PARIS),
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: `<tool_result name="get_weather" call_id="${call?.call_id}">a map` },
          { type: 'input_image', image_url: image, detail: 'auto' },
          { type: 'input_text', text: '</tool_result>' },
        ],
      },
      message('user', 'And now?'),
    ]);
  });

  it('has one call if one is requested, and custom calls for custom tools', async () => {
    proxy.use(writes(`${block('run', '{"input":"ls -l"}')}${OSLO}`));
    const tools: OpenAI.Responses.Tool[] = [{ type: 'custom', name: 'run', description: 'Runs.' }, WEATHER];
    // Open Responses has no custom tools.
    const one = await proxy.openai.responses.create({ ...ask, tools, parallel_tool_calls: false });
    expect(one.output).toMatchObject([{ type: 'custom_tool_call', name: 'run', input: 'ls -l' }]);
    const both = await proxy.openai.responses.create({ ...ask, tools });
    expect(both.output).toMatchObject([{ name: 'run' }, { name: 'get_weather' }]);
  });

  it('never has an undeclared call: the model gets an error and is called again', async () => {
    proxy.use(inTurn(writes(`Hm. ${block('shell', '{}')}`), writes('Sorry.')));
    const whole = await responses.openai.responses.create(ask);
    expect(whole.output).toMatchObject([
      { type: 'message', content: [{ text: 'Hm. ' }] },
      { type: 'message', content: [{ text: 'Sorry.' }] },
    ]);
    expect(whole.usage?.input_tokens).toBe(2 * HELLO_USAGE.inputTokens);
    expect(sentItems(proxy.model).slice(2)).toEqual([
      message('assistant', `Hm. ${block('shell', '{}')}`),
      message(
        'user',
        expect.stringMatching(
          /^<tool_result name="shell" call_id="call_\w+">Error: there is no tool named "shell". The tools are: get_weather, get_time.<\/tool_result>$/,
        ) as unknown as string,
      ),
    ]);
    proxy.use(writes(block('shell', '{}')));
    await expect(responses.openai.responses.create(ask)).rejects.toMatchObject({ status: 502 });
  });

  it('never has half of a call that was cut off: the message with it is incomplete', async () => {
    const half = `Let me look.\n${PARIS.slice(0, 40)}`;
    proxy.use(writes(half, { incomplete: 'max_output_tokens' }));
    const text = 'Let me look.\n';
    const item = ['incomplete', text];
    expect(await shownBy(responses, chat, ask)).toEqual({
      whole: [item],
      streamed: [item],
      deltas: text,
      status: 'incomplete',
      chat: [
        ['length', text],
        ['length', text],
      ],
    });
  });

  it.each([
    ['half a call', `Let me look.\n${PARIS.slice(0, 40)}`],
    ['nested openings', '<tool_call>{"a":"'.repeat(4)],
  ])('has every character if the model ends it in %s', async (_, text) => {
    proxy.use(writes(text));
    const item = ['completed', text];
    expect(await shownBy(responses, chat, ask)).toEqual({
      whole: [item],
      streamed: [item],
      deltas: text,
      status: 'completed',
      chat: [
        ['stop', text],
        ['stop', text],
      ],
    });
  });

  it('applies stop sequences and limits to the visible text', async () => {
    proxy.use(writes(`one END ${PARIS}`));
    const limited = await chat.openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'get_weather' } }],
      stop: ['END'],
    });
    expect(limited.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one ' } });
  });
});

describe('other settings', () => {
  const ask = {
    model: 'gpt-5.5',
    input: [{ role: 'user', content: 'Hi' }],
    instructions: 'Be brief.',
    tools: [WEATHER, TIME],
  };

  it('puts the description before the instructions if all become developer instructions', async () => {
    const fresh = await startFresh(hello, {
      PROXY_TOOL_TRANSPORT: '*-5.5=prose',
      PROXY_INSTRUCTIONS_TARGET: 'developer',
    });
    const input = [{ role: 'developer', content: 'Be kind.' }, ...ask.input];
    expect((await fresh.post('/v1/responses', { ...ask, input })).status).toBe(200);
    expect(sentItems(fresh.model)).toEqual([
      message('developer', `${INSTRUCTIONS}\n\nBe brief.\n\nBe kind.`),
      message('user', 'Hi'),
    ]);
  });

  it('works without the relay', async () => {
    const fresh = await startFresh(writes(`x ${PARIS}`), {
      PROXY_TOOL_TRANSPORT: 'prose',
      PROXY_WIRE: 'off',
    });
    const answer = await fresh.post('/v1/responses', ask);
    expect(await answer.json()).toMatchObject({
      output: [{ content: [{ text: 'x ' }] }, { type: 'function_call', name: 'get_weather' }],
    });
    expect(JSON.stringify(sentBody(fresh.model)['tools'] ?? [])).not.toContain('get_weather');
  });

  it('hides the tools of Responses from the model, and reports it', async () => {
    const fresh = await startFresh(hello, {
      PROXY_RESPONSES_OMIT_TOOL_MANIFEST: 'true',
      PROXY_TOOL_TRANSPORT: 'llama-*=prose',
    });
    const answer = await fresh.post('/v1/responses', { ...ask, tool_choice: 'required' });
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('tools, tool_choice');
    expect(await answer.json()).toMatchObject({ tools: [{ name: 'get_weather' }, { name: 'get_time' }] });
    expect(sentBody(fresh.model)).not.toHaveProperty('tools');
    const chatTool = { type: 'function', function: { name: 'get_weather' } };
    const { input: messages, ...rest } = ask;
    await fresh.post('/v1/chat/completions', { ...rest, messages, tools: [chatTool] });
    expect(sentBody(fresh.model)['tools']).toMatchObject([{ name: 'get_weather' }]);
  });
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
