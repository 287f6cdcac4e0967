import Anthropic from '@anthropic-ai/sdk';
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import OpenAI from 'openai';
import type { ChatCompletionMessage, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** Models that show their reasoning itself, as gpt-oss does, in the APIs with one place for reasoning. */

const proxy = await openProxy(hello);
const openai = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });

const PARTS = ['Thinking aloud.', 'And on.'];
const SHOWN = 'Thinking aloud.\n\nAnd on.';
const RAW = {
  type: 'reasoning',
  summary: [],
  content: PARTS.map((text) => ({ type: 'reasoning_text', text })),
};

let calls = 0;
/** Thinks, calls a tool, and answers its output. */
const thinksAndCalls = (): string => {
  calls += 1;
  const callId = `call_raw_${calls}`;
  const call = { name: 'look', arguments: { q: 1 }, callId };
  proxy.use(inTurn(says([{ reasoning: { summary: [], content: PARTS } }, { call }]), hello));
  return callId;
};

/** The items of the model that came back with its tool output. */
const sentBack = () => sentItems(proxy.model).slice(1, 3);

type Chat = ChatCompletionMessage & { readonly reasoning_content?: string; readonly reasoning?: string };

describe('raw reasoning in Chat', () => {
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  const question = { role: 'user' as const, content: 'why?' };
  const ask = (messages: ChatCompletionMessageParam[]) => ({ model: 'gpt-5.5', messages, tools });

  const json = async (): Promise<Chat> =>
    (await openai.chat.completions.create(ask([question]))).choices[0]?.message as Chat;
  const stream = async (): Promise<Chat> => {
    const chunks = openai.chat.completions.stream(ask([question]));
    let [content, reasoning] = ['', ''];
    for await (const chunk of chunks) {
      const delta = chunk.choices[0]?.delta as Partial<Chat> | undefined;
      content += delta?.reasoning_content ?? '';
      reasoning += delta?.reasoning ?? '';
    }
    const final = await chunks.finalMessage();
    return { ...(final as Chat), reasoning_content: content, reasoning };
  };

  it.each([
    ['JSON', json],
    ['a stream', stream],
  ])('is shown as %s, and comes back with the output of a tool', async (_, create) => {
    const callId = thinksAndCalls();
    const message = await create();
    expect(message).toMatchObject({ reasoning_content: SHOWN, reasoning: SHOWN });
    await openai.chat.completions.create(
      ask([question, message, { role: 'tool', tool_call_id: callId, content: 'seen' }]),
    );
    expect(sentBack()).toMatchObject([RAW, { type: 'function_call', call_id: callId }]);
  });
});

describe('raw reasoning in Messages', () => {
  const ask = {
    model: 'gpt-5.5',
    max_tokens: 100,
    thinking: { type: 'adaptive' as const },
    tools: [{ name: 'look', input_schema: { type: 'object' as const } }],
  };
  const question: MessageParam = { role: 'user', content: 'why?' };

  const WAYS: readonly (readonly [string, () => Promise<Message>])[] = [
    ['JSON', () => anthropic.messages.create({ ...ask, messages: [question] })],
    ['a stream', () => anthropic.messages.stream({ ...ask, messages: [question] }).finalMessage()],
  ];

  it.each(WAYS)('is thinking with a signature as %s, and comes back', async (_, create) => {
    const callId = thinksAndCalls();
    const { content } = await create();
    expect(content).toMatchObject([
      { type: 'thinking', thinking: SHOWN, signature: expect.stringMatching(/./) },
      { type: 'tool_use', id: callId },
    ]);
    const result = { type: 'tool_result' as const, tool_use_id: callId, content: 'seen' };
    const messages: MessageParam[] = [
      question,
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ];
    await anthropic.messages.create({ ...ask, messages });
    expect(sentBack()).toMatchObject([RAW, { type: 'function_call', call_id: callId }]);
  });
});
