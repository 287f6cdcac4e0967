import type { Reply } from '../../canonical/events/accumulate.ts';
import { isMessage, wordsOf } from '../../canonical/request/item.ts';
import type { TurnEvent, TurnResult } from '../../canonical/events/turn-event.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/lists.ts';
import { FINGERPRINT, finishReason } from '../chat/project.ts';
import {
  projectCompletionUsage,
  renderChoices,
  type RenderChoicesOptions,
} from '../shared/render-choices.ts';
import { JoinedText } from '../shared/joined-text.ts';
import type { Frame } from '../../turns/api.ts';

/** What a text completion needs besides the replies. */
export interface CompletionMeta extends RenderChoicesOptions {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The requested model name. */
  readonly model: string;
  /** The echoed prompt of each choice. */
  readonly echoes: readonly string[];
}

/** The JSON body. A refusal becomes text, because this API has no other field for it. */
export const projectCompletion = (replies: readonly Reply[], meta: CompletionMeta) => {
  const usage = projectCompletionUsage(replies, meta.usagePolicy);
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
  const fields = commonFields(meta);
  const noUsage = meta.includeUsage ? { usage: null } : {};
  for (const [index, text] of meta.echoes.entries()) {
    yield { event: null, data: { ...fields, choices: [choiceOf(index, text, null)], ...noUsage } };
  }
  yield* renderChoices(turns, fields, meta, (event, index) => {
    if (event.type === 'turn-ended') return [choiceOf(index, '', reasonOf(event))];
    if (event.type !== 'item-delta' || (event.at !== 'text' && event.at !== 'refusal')) return [];
    const part = event.at === 'text' ? event.itemId : refusalOf(event.itemId);
    const text = (texts[index] ?? texts[0]).add(part, event.delta);
    return text === '' ? [] : [choiceOf(index, text, null)];
  });
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

const reasonOf = ({ outcome }: TurnResult): string => finishReason(outcome, { isLegacy: false });

const refusalOf = (itemId: string): string => `${itemId} refusal`;
