import { APIError } from 'openai';
import type OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

import { outputOf, wordsOf, type Conversation } from './conversation-plan.ts';

export interface Tally {
  answers: number;
  /** Answers that broke off and were requested again. */
  askedAgain: number;
}

/** The result of one round. */
interface Answer {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly input: string }[];
}

/** How often one round is requested again after its stream broke: the SDK retries only earlier failures. */
const MAX_TIMES = 12;
const PARAMETERS = { type: 'object', properties: { of: { type: 'string' } } };
const MODEL = 'gpt-5.5';

/** Runs one conversation to its end; returns what was wrong with it, if anything. */
export const lead = async (
  openai: OpenAI,
  conversation: Conversation,
  tally: Tally,
): Promise<string | null> => {
  const talk =
    conversation.api === 'chat' ? chatTalk(openai, conversation) : responsesTalk(openai, conversation);
  for (const [index, round] of conversation.rounds.entries()) {
    const { text, calls } = await asked(() => talk.ask(), tally);
    const isRight =
      text === (round.says ? wordsOf(conversation, index) : '') &&
      calls.length === round.calls &&
      calls.every(({ input }, at) => input === JSON.stringify({ of: conversation.name, round: index, at }));
    if (!isRight) return `${JSON.stringify({ ...conversation, index })}: ${JSON.stringify({ text, calls })}`;
    const outputs = calls.map(({ id }) => ({ id, output: outputOf(conversation, id) }));
    const aside = round.calls === 0 ? null : (conversation.asides[index] ?? null);
    talk.go(conversation.reversed ? outputs.toReversed() : outputs, aside);
  }
  return null;
};

const asked = async (ask: () => Promise<Answer>, tally: Tally): Promise<Answer> => {
  for (let times = 1; ; times += 1) {
    try {
      const answer = await ask();
      tally.answers += 1;
      return answer;
    } catch (error) {
      // An error with a status came before the answer began, and was retried by the SDK.
      const isBroken = error instanceof Broken || (error instanceof APIError && error.status === undefined);
      if (!isBroken || times >= MAX_TIMES) throw error;
      tally.askedAgain += 1;
    }
  }
};

/** The answer began but did not end. */
class Broken extends Error {}

interface Talk {
  ask(): Promise<Answer>;
  /** Continues with the next round. */
  go(
    outputs: readonly { readonly id: string; readonly output: string }[],
    aside: 'user' | 'developer' | null,
  ): void;
}

const chatTalk = (openai: OpenAI, { name, stream }: Conversation): Talk => {
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: `Begin ${name}` }];
  let last: OpenAI.Chat.ChatCompletionMessage | null = null;
  return {
    async ask() {
      const tool = { type: 'function' as const, function: { name: 'look_up', parameters: PARAMETERS } };
      const body = { model: MODEL, messages, tools: [tool] };
      const { choices } = stream
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body);
      const [choice] = choices;
      if (choice === undefined) throw new Broken('no choice');
      last = choice.message;
      const calls = (last.tool_calls ?? []).map((call) => ({
        id: call.id,
        input: call.type === 'function' ? call.function.arguments : '',
      }));
      return { text: last.content ?? '', calls };
    },
    go(outputs, aside) {
      if (last !== null) messages.push(last);
      messages.push(
        ...outputs.map(({ id, output }) => ({ role: 'tool' as const, tool_call_id: id, content: output })),
        ...(aside === null ? [] : [{ role: aside, content: 'Go on.' }]),
      );
    },
  };
};

const responsesTalk = (openai: OpenAI, { name, stream, keepsReasoning }: Conversation): Talk => {
  const input: ResponseInputItem[] = [{ role: 'user', content: `Begin ${name}` }];
  let last: OpenAI.Responses.ResponseOutputItem[] = [];
  return {
    async ask() {
      const tool = {
        type: 'function' as const,
        name: 'look_up',
        parameters: PARAMETERS,
        strict: false,
      };
      const body = {
        model: MODEL,
        input,
        tools: [tool],
        ...(keepsReasoning ? { include: ['reasoning.encrypted_content' as const] } : {}),
      };
      const response = stream
        ? await openai.responses.stream(body).finalResponse()
        : await openai.responses.create(body);
      if (response.status !== 'completed') throw new Broken(String(response.status));
      last = response.output;
      const calls = last.flatMap((item) =>
        item.type === 'function_call' ? [{ id: item.call_id, input: item.arguments }] : [],
      );
      return { text: response.output_text, calls };
    },
    go(outputs, aside) {
      input.push(
        ...(last as ResponseInputItem[]),
        ...outputs.map(({ id, output }) => ({ type: 'function_call_output' as const, call_id: id, output })),
        ...(aside === null ? [] : [{ role: aside, content: 'Go on.' }]),
      );
    },
  };
};
