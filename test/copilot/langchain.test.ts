import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { ANSWER, itemsOf, QUESTION, textOf, threeRounds, weatherIn } from '../clients/rounds.ts';
import { skipPackages } from '../support/locked-packages.ts';
import { openProxy } from '../support/open-proxy.ts';
import { cutMidStream, hello, http400, http429, says, usageLimit } from '../support/scripts.ts';
import { openLangChain, type LangChain } from './installed.ts';

/** The chat view of Obsidian Copilot: LangChain at the versions that it locks, with its options. */

const proxy = await openProxy(hello);
const HELLO = 'Hello from the scripted model.';

const sent = (): JsonObject => proxy.model.requests.at(-1)?.body ?? {};

/** How many requests reached the model meanwhile. */
const requestsDuring = async (act: () => Promise<unknown>): Promise<number> => {
  const before = proxy.model.requests.length;
  await act();
  return proxy.model.requests.length - before;
};

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const XML_PROMPT =
  '# Autonomous Agent Mode\n\nTo use a tool write:\n<use_tool>\n<name>localSearch</name>\n</use_tool>';
const XML_CALL =
  'Let me look.\n\n<use_tool>\n<name>localSearch</name>\n<query>a & "b" < c</query>\n<salientTerms>["x","y"]</salientTerms>\n</use_tool>\n';

const TITLE =
  'Generate a concise title (max 5 words) for this conversation based on its content. Return only the title without any explanation or quotes.';
const SUMMARY =
  'Your task is to analyze a conversation and generate both a title and a summary.\n\n# OUTPUT FORMAT\n…\n\n# RULES\n* Use the same language as the conversation';
const CONVERSATION = 'user: What is the weather?\nAI: Rain.';

/** A failure as LangChain reports it. */
const thrownBy = async (act: () => Promise<unknown>): Promise<Record<string, unknown>> => {
  try {
    await act();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('nothing was thrown');
};

interface Setting {
  readonly version: string;
  readonly useResponsesApi: boolean;
}

const suite = ({ openai, messages, tools }: LangChain, { version, useResponsesApi }: Setting): void => {
  const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = messages;

  const modelOf = (options: Readonly<Record<string, unknown>> = {}) =>
    new openai.ChatOpenAI({
      model: 'gpt-5.5',
      apiKey: proxy.key,
      useResponsesApi,
      temperature: 0.1,
      maxTokens: 6000,
      streaming: true,
      maxRetries: 3,
      maxConcurrency: 3,
      configuration: {
        baseURL: `${proxy.url}/v1`,
        dangerouslyAllowBrowser: true,
        // OpenAI's SDK sends it only in the renderer.
        defaultHeaders: { 'dangerously-allow-browser': 'true' },
      },
      ...options,
    });
  type Streams = Pick<ReturnType<typeof modelOf>, 'stream'>;

  const streamed = async (model: Streams, history: readonly BaseMessage[]): Promise<AIMessageChunk> => {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([...history])) whole = whole?.concat(chunk) ?? chunk;
    if (whole === undefined) throw new Error('nothing came');
    return whole;
  };

  const getWeather = tools.tool(({ city }: { city: string }) => weatherIn(city), {
    name: 'get_weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.string() }),
  });

  it('is answered, as a stream and whole', async () => {
    proxy.use(hello);
    const chunk = await streamed(modelOf(), [new SystemMessage('Be brief.'), new HumanMessage('hi')]);
    expect(chunk.text).toBe(HELLO);
    expect(sent()).toMatchObject({ model: 'gpt-5.5' });
    // Older versions check like this whether a model exists.
    const ping = modelOf({ streaming: false, maxTokens: 30 });
    expect((await ping.invoke([new HumanMessage('hello')])).text).toBe(HELLO);
  });

  /** Runs the tool until the model no longer calls it, and returns the whole conversation. */
  const loop = async (ask: (history: BaseMessage[]) => Promise<AIMessageChunk>): Promise<BaseMessage[]> => {
    const history: BaseMessage[] = [new HumanMessage(QUESTION)];
    for (;;) {
      const said = await ask(history);
      history.push(said);
      const calls = said.tool_calls ?? [];
      if (calls.length === 0) return history;
      for (const { id = '', args } of calls) {
        history.push(new ToolMessage({ tool_call_id: id, content: weatherIn(String(args['city'])) }));
      }
    }
  };

  it('calls native tools, several at once, and continues with their results', async () => {
    proxy.use(threeRounds);
    const model = modelOf({ streaming: false }).bindTools([getWeather]);
    const history = await loop((messagesSoFar) => model.invoke(messagesSoFar));
    expect(history.at(-1)?.text).toBe(ANSWER);
    expect(history).toHaveLength(7);
  });

  it('calls native tools in a stream', async () => {
    proxy.use(twoCalls);
    const model = modelOf().bindTools([getWeather]);
    const history = await loop((messagesSoFar) => streamed(model, messagesSoFar));
    expect((history[1] as AIMessageChunk).tool_calls).toMatchObject([
      { id: 'call_paris', name: 'get_weather', args: { city: 'Paris' }, type: 'tool_call' },
      { id: 'call_oslo', name: 'get_weather', args: { city: 'Oslo' }, type: 'tool_call' },
    ]);
    expect(history.at(-1)?.text).toBe('Paris: rain, Oslo: snow');
    // The older core adds up the indices of chunks that it joins: it treats two calls as one unless the first
    // has index 0.
    if (version === '1.2.2' && useResponsesApi) return;
    proxy.use(threeRounds);
    expect((await loop((messagesSoFar) => streamed(model, messagesSoFar))).at(-1)?.text).toBe(ANSWER);
  });

  it('learns to write calls as XML from an assistant message at the start', async () => {
    proxy.use(says([{ text: XML_CALL }]));
    const history = [new AIMessage(XML_PROMPT), new HumanMessage('Find x.')];
    const said = await streamed(modelOf(), history);
    expect(said.text).toBe(XML_CALL);
    expect(said.tool_calls ?? []).toEqual([]);
    const [front] = itemsOf(sent());
    expect(front).toMatchObject({ role: 'assistant' });
    expect(JSON.stringify(front)).toContain('# Autonomous Agent Mode');
    const result = new HumanMessage("Tool 'localSearch' result: nothing");
    expect((await streamed(modelOf(), [...history, said, result])).text).toBe(XML_CALL);
    expect(itemsOf(sent()).map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant', 'user']);
  });

  it('sends images', async () => {
    proxy.use(hello);
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: PNG } },
    ];
    expect((await streamed(modelOf(), [new HumanMessage({ content })])).text).toBe(HELLO);
    expect(itemsOf(sent()).at(-1)).toMatchObject({
      content: [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: PNG },
      ],
    });
  });

  it.each([TITLE, SUMMARY])('gets the answers to its side requests: %s', async (prompt) => {
    const both = { title: 'Weather in Paris', summary: 'It rains.' };
    const isTitle = prompt === TITLE;
    const tooLong = `${both.title}, and everything else that was said about it`;
    proxy.use(says([{ text: isTitle ? tooLong : JSON.stringify(both) }]));
    const history = isTitle
      ? [new HumanMessage(`${prompt}\n\nConversation:\n${CONVERSATION}`)]
      : [
          new SystemMessage(prompt),
          new HumanMessage(
            `<conversation_text>\n${CONVERSATION}\n</conversation_text>\n\nGenerate a title and summary for this conversation:`,
          ),
        ];
    const whole = modelOf({ streaming: false });
    for (const { text } of [await streamed(modelOf(), history), await whole.invoke(history)]) {
      if (isTitle) expect(text).toMatch(/^Weather in Paris.{0,34}$/);
      else expect(JSON.parse(text)).toEqual(both);
    }
  });

  it('reports what is wrong with a request, without a retry', async () => {
    proxy.use(http400('Invalid something.'));
    const count = await requestsDuring(async () => {
      const error = await thrownBy(() => streamed(modelOf(), [new HumanMessage('hi')]));
      expect(error).toMatchObject({ status: 400, message: expect.stringContaining('Invalid something.') });
    });
    expect(count).toBe(1);
  });

  it('does not retry when the quota is used up', async () => {
    proxy.use(usageLimit());
    const count = await requestsDuring(async () => {
      const error = await thrownBy(() => streamed(modelOf(), [new HumanMessage('hi')]));
      // The older one throws its own error instead of ours.
      expect([error['status'], error['name']]).toEqual(
        version === '1.2.2' ? [undefined, 'InsufficientQuotaError'] : [429, expect.any(String)],
      );
    });
    expect(count).toBe(1);
  });

  it('reads the retry delay', async () => {
    proxy.use(http429(7));
    const error = await thrownBy(() => streamed(modelOf({ maxRetries: 0 }), [new HumanMessage('hi')]));
    expect(error['status']).toBe(429);
    expect((error['headers'] as Headers).get('retry-after')).toBe('7');
  });

  it('reports an error in the middle of a stream', async () => {
    proxy.use(cutMidStream);
    const heard: string[] = [];
    const error = await thrownBy(async () => {
      const stream = await modelOf({ maxRetries: 0 }).stream([new HumanMessage('hi')]);
      for await (const chunk of stream) heard.push(chunk.text);
    });
    expect(heard.join('')).toBe('This sentence will never');
    expect(error['message']).toEqual(expect.any(String));
  });

  it('keeps concurrent requests apart', async () => {
    proxy.use(saysWhatItHeard);
    const model = modelOf();
    const all = await Promise.all(
      ['a', 'b', 'c', 'd'].map((text) => streamed(model, [new HumanMessage(text)])),
    );
    expect(all.map(({ text }) => text)).toEqual(['a', 'b', 'c', 'd']);
  });
};

/** A model that asks for two cities at once, and repeats the results. */
const twoCalls: Script = ({ body }, connection) => {
  const outputs = itemsOf(body).filter(({ type }) => type === 'function_call_output');
  const call = (callId: string, deltas: readonly string[]) => ({
    call: { name: 'get_weather', arguments: deltas.join(''), callId },
    deltas,
  });
  return answer(
    connection,
    outputs.length === 0
      ? [call('call_paris', ['{"ci', 'ty":"Pa', 'ris"}']), call('call_oslo', ['{"city":"Oslo"}'])]
      : [{ text: outputs.map(({ output }) => textOf(output)).join(', ') }],
  );
};

const saysWhatItHeard: Script = ({ body }, connection) => {
  const content = itemsOf(body).at(-1)?.['content'];
  return answer(connection, [{ text: textOf(content) }]);
};

for (const version of ['1.2.2', '1.5.8']) {
  const langchain = await openLangChain(`langchain-${version}`);
  describe.each([
    ['chat', false],
    ['responses', true],
  ])(`LangChain ${version} by %s`, (_, useResponsesApi) => {
    if (langchain === null) skipPackages(`test/copilot/langchain-${version}`);
    else suite(langchain, { version, useResponsesApi });
  });
}
