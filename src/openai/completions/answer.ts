import type { Reply } from '../../canonical/events/accumulate.ts';
import { isMessage, wordsOf } from '../../canonical/request/item.ts';
import type { TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import { interleave } from '../../kit/async/interleave.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/one-or-more.ts';
import { FINGERPRINT, finishReason } from '../chat/project.ts';
import { projectUsage, type UsagePolicy } from '../shared/completion-usage.ts';
import { errorBody } from '../shared/error-body.ts';
import { JoinedText } from '../shared/joined-text.ts';
import { DONE, usageNote } from '../shared/sse.ts';
import type { Frame } from '../../turns/api.ts';

/** What a text completion needs besides the replies. */
export interface CompletionMeta {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The requested model name. */
  readonly model: string;
  readonly includeUsage: boolean;
  /** The echoed prompt of each choice. */
  readonly echoes: readonly string[];
  readonly usagePolicy: UsagePolicy;
}

/** The JSON body. A refusal becomes text, because this API has no other field for it. */
export const projectCompletion = (replies: readonly Reply[], meta: CompletionMeta) => {
  const usage = projectUsage(replies, meta.usagePolicy);
  const choices = replies.map((reply, index) => {
    const joined = new JoinedText();
    const text = reply.items.map((item) =>
      isMessage(item)
        ? joined.add(item.id, wordsOf(item, 'text')) +
          joined.add(refusalOf(item.id), wordsOf(item, 'refusal'))
        : '',
    );
    return choiceOf(index, (meta.echoes[index] ?? '') + text.join(''), reasonOf(reply));
  });
  return { ...commonFields(meta), choices, ...(usage === null ? {} : { usage }) };
};

/** Renders the turns as chunks, which have the same form as the JSON body. */
export async function* renderCompletion(
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  meta: CompletionMeta,
): AsyncGenerator<Frame> {
  const texts = mapAll(turns, () => new JoinedText());
  const ended: TurnEnded[] = [];
  const frame = (index: number, text: string, finish: string | null): Frame => ({
    event: null,
    data: {
      ...commonFields(meta),
      choices: [choiceOf(index, text, finish)],
      ...(meta.includeUsage ? { usage: null } : {}),
    },
  });
  for (const [index, text] of meta.echoes.entries()) yield frame(index, text, null);
  for await (const [index, event] of interleave(turns)) {
    if (event.type === 'item-delta' && (event.at === 'text' || event.at === 'refusal')) {
      const part = event.at === 'text' ? event.itemId : refusalOf(event.itemId);
      const text = (texts[index] ?? texts[0]).add(part, event.delta);
      if (text !== '') yield frame(index, text, null);
    }
    if (event.type !== 'turn-ended') continue;
    if (event.outcome.kind === 'failed') {
      yield { event: null, data: errorBody(event.outcome.failure) };
      yield { event: null, data: DONE };
      return;
    }
    ended.push(event);
    yield frame(index, '', reasonOf(event));
  }
  const usage = meta.includeUsage ? projectUsage(ended, meta.usagePolicy) : null;
  if (usage !== null) {
    yield { event: null, data: { ...commonFields(meta), choices: [], usage }, ...usageNote(ended) };
  }
  yield { event: null, data: DONE };
}

const commonFields = (meta: CompletionMeta) => ({
  id: meta.id,
  object: 'text_completion' as const,
  created: meta.createdAt,
  model: meta.model,
  system_fingerprint: FINGERPRINT,
});

const choiceOf = (index: number, text: string, finish: string | null) => ({
  index,
  text,
  logprobs: null,
  finish_reason: finish,
});

const reasonOf = ({ outcome }: Pick<TurnEnded, 'outcome'>): string =>
  finishReason(outcome, { isLegacy: false });

const refusalOf = (itemId: string): string => `${itemId} refusal`;
