import type OpenAI from 'openai';
import type { FunctionTool } from 'openai/resources/responses/responses';

import type { openCheckedChat } from './chat-checked.ts';
import type { CheckedClient } from './responses-checked.ts';

type CheckedChat = Awaited<ReturnType<typeof openCheckedChat>>['client'];

interface Ask {
  readonly model: string;
  readonly input: string;
  readonly tools: FunctionTool[];
}

/** What a client reads of one answer, streamed and as JSON, in both APIs. */
export const shownBy = async (responses: CheckedClient, chat: CheckedChat, ask: Ask) => {
  const whole = await responses.openai.responses.create(ask);
  const streamed = await responses.openai.responses.stream(ask).finalResponse();
  const deltas = (await responses.lastEvents()).flatMap(({ delta }) =>
    typeof delta === 'string' ? [delta] : [],
  );
  const tools = ask.tools.map(({ name }) => ({ type: 'function' as const, function: { name } }));
  const asked = { model: ask.model, messages: [{ role: 'user' as const, content: ask.input }], tools };
  const completion = await chat.openai.chat.completions.create(asked);
  const chunks = await chat.openai.chat.completions.stream(asked).finalChatCompletion();
  return {
    whole: messagesIn(whole),
    streamed: messagesIn(streamed),
    deltas: deltas.join(''),
    status: whole.status,
    chat: [completion, chunks].map(({ choices: [choice] }) => [
      choice?.finish_reason,
      choice?.message.content,
    ]),
  };
};

/** The status and texts of each message. */
const messagesIn = ({ output }: OpenAI.Responses.Response): unknown[] =>
  output.flatMap((item) =>
    item.type === 'message'
      ? [[item.status, ...item.content.map((part) => 'text' in part && part.text)]]
      : [],
  );
