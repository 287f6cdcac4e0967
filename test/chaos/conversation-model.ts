import { randomBytes } from 'node:crypto';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { hello } from '../support/scripts.ts';
import { outputOf, wordsOf, type Conversation, type Round } from './conversation-plan.ts';

interface Given {
  readonly conversation: Conversation;
  readonly round: Round;
  readonly index: number;
}

/** A model that knows all its answers, and checks that what comes back is what it sent. */
export class TalkingModel {
  readonly #conversations: ReadonlyMap<string, Conversation>;
  /** By a word that everything of one answer contains: a repeated answer is another one. */
  readonly #answers = new Map<string, Given>();
  answers = 0;
  /** How often reasoning came back at its right position. */
  recalled = 0;

  constructor(conversations: readonly Conversation[]) {
    this.#conversations = new Map(conversations.map((one) => [one.name, one]));
  }

  readonly script: Script = (request, connection) => {
    const input = itemsOf(request.body['input']);
    const name = /talk-\d+-\d+-end/.exec(JSON.stringify(input))?.[0] ?? '';
    const conversation = this.#conversations.get(name);
    if (conversation === undefined) return hello(request, connection);
    const tags = [...new Set(input.flatMap((item) => callTag(item) ?? []))];
    const complaint = this.#complaint(conversation, input, tags);
    const index = tags.length;
    const round = conversation.rounds[index];
    if (complaint !== null || round === undefined) {
      return answer(connection, [{ text: `WRONG: ${complaint ?? 'the conversation was over'}` }]);
    }
    const tag = randomBytes(12).toString('hex');
    this.answers += 1;
    this.#answers.set(tag, { conversation, round, index });
    return answer(connection, stepsOf(conversation, index, round, tag));
  };

  /** What is wrong with a conversation that came back; null: nothing. */
  #complaint(
    conversation: Conversation,
    input: readonly JsonObject[],
    tags: readonly string[],
  ): string | null {
    const names = input.map((item) => shortOf(item));
    for (const [index, tag] of tags.entries()) {
      const given = this.#answers.get(tag);
      if (given?.conversation !== conversation || given.index !== index) return `a strange answer ${tag}`;
      const { round } = given;
      const calls = Array.from({ length: round.calls }, (_, at) => `${tag}_${at}`);
      const right = [
        ...(round.thinks ? [`sealed ${tag}`] : []),
        ...(round.says ? [`said ${wordsOf(conversation, index)}`] : []),
        ...calls.map((call) => `called ${call}`),
      ];
      const end = names.indexOf(`called ${calls.at(-1)}`) + 1;
      const sent = names.slice(Math.max(0, end - right.length), end);
      if (JSON.stringify(sent) !== JSON.stringify(right))
        return `${sent.join(', ')} is not ${right.join(', ')}`;
      if (round.thinks) this.recalled += 1;
      for (const call of calls) {
        const output = input.find((item) => 'output' in item && item['call_id'] === `call_${call}`);
        if (output?.['output'] !== outputOf(conversation, `call_${call}`)) return `the output of ${call}`;
      }
    }
    const sealed = names.filter((one) => one.startsWith('sealed ')).length;
    const thought = tags.filter((tag) => this.#answers.get(tag)?.round.thinks).length;
    return sealed === thought ? null : `${sealed} thoughts of ${thought}`;
  }
}

const itemsOf = (input: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(input) ? (input as readonly Json[]) : []).filter(isJsonObject);

const textIn = (item: JsonObject, key: string): string => {
  const value = item[key];
  return typeof value === 'string' ? value : '';
};

const callTag = (item: JsonObject): string | null =>
  item['type'] === 'function_call'
    ? (/^call_([0-9a-f]{24})_/.exec(textIn(item, 'call_id'))?.[1] ?? null)
    : null;

const shortOf = (item: JsonObject): string => {
  const { type, content } = item;
  if (type === 'reasoning') return textIn(item, 'encrypted_content');
  if (type === 'function_call') return `called ${textIn(item, 'call_id').slice('call_'.length)}`;
  const [part] = itemsOf(content);
  return item['role'] === 'assistant' ? `said ${textIn(part ?? {}, 'text')}` : textIn(item, 'type');
};

const stepsOf = (
  conversation: Conversation,
  index: number,
  round: Round,
  tag: string,
): readonly ScriptStep[] => {
  const pace = { chunkSize: 8, delayMs: round.pauseMs };
  return [
    ...(round.thinks ? [{ reasoning: { summary: [], encrypted: `sealed ${tag}`, id: `rs_${tag}` } }] : []),
    { wait: round.pauseMs },
    ...(round.says ? [{ text: wordsOf(conversation, index), id: `msg_${tag}`, ...pace }] : []),
    ...Array.from({ length: round.calls }, (_, at) => ({
      call: {
        name: 'look_up',
        arguments: JSON.stringify({ of: conversation.name, round: index, at }),
        callId: `call_${tag}_${at}`,
        id: `fc_${tag}_${at}`,
      },
      ...pace,
    })),
  ];
};
