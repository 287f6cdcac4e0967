import { failure, type Failure } from '../../canonical/failure/failure.ts';
import { isMessage, wordsOf, type Item, type Produced } from '../../canonical/request/item.ts';
import type { TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';

/** Limit on the quoted text of a model that wrote text instead of an image. */
const MAX_WORDS = 1_000;

/** The raw image generation call; null for other items. */
export const imageCallOf = (item: Item): JsonObject | null =>
  item.kind === 'hosted-call' && item.raw.type === 'image_generation_call' ? item.raw : null;

/** The image of a call in base64, or null. */
export const drawnBy = (call: JsonObject | null): string | null => {
  const result = call?.['result'];
  return typeof result === 'string' && result !== '' ? result : null;
};

/** Keeps only the images of a turn. A turn without an image fails. */
export async function* onlyImages(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  const shown = new Set<string>();
  const all: Produced[] = [];
  let hasImage = false;
  for await (const event of events) {
    switch (event.type) {
      case 'item-started':
        if (imageCallOf(event.item) === null) break;
        shown.add(event.item.id);
        yield event;
        break;
      case 'item-ended':
        hasImage ||= drawnBy(imageCallOf(event.item)) !== null;
        if (shown.has(event.item.id)) yield event;
        all.push(event.item);
        break;
      case 'item-delta':
      case 'item-status':
        if (shown.has(event.itemId)) yield event;
        break;
      case 'turn-ended':
        yield hasImage || event.outcome.kind === 'failed' ? event : without(event, all);
        break;
      case 'turn-accepted':
        yield event;
    }
  }
}

const without = (ended: TurnEnded, items: readonly Produced[]): TurnEnded => ({
  ...ended,
  outcome: { kind: 'failed', failure: whyNone(ended, items) },
});

const whyNone = ({ outcome }: TurnEnded, items: readonly Produced[]): Failure => {
  const refused = items.map(refusalOf).find((refusal) => refusal !== null);
  if (refused !== undefined) return refused;
  if (outcome.kind === 'incomplete' && outcome.reason === 'content_filter')
    return failure('moderation_blocked');
  const words = items
    .filter(isMessage)
    .map((message) => wordsOf(message, 'text'))
    .join('\n')
    .trim();
  if (words === '') return failure('image_not_generated');
  return failure('image_not_generated', {
    message: `The model answered without an image. It said: ${cut(words)}`,
  });
};

/** The failure for a call that the backend rejected, or for a refusal by the model. */
const refusalOf = (item: Produced): Failure | null => {
  if (isMessage(item)) {
    const message = wordsOf(item, 'refusal');
    return message === '' ? null : failure('moderation_blocked', { message: cut(message) });
  }
  const error = imageCallOf(item)?.['error'];
  if (!isJsonObject(error)) return null;
  const { code, message } = error;
  return failure('moderation_blocked', {
    ...(typeof code === 'string' && code !== '' ? { code } : {}),
    ...(typeof message === 'string' && message !== '' ? { message: cut(message) } : {}),
  });
};

const cut = (words: string): string =>
  words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS).toWellFormed()}…` : words;
