import { isMessage, type Message, type Part, type Produced } from '../../canonical/request/item.ts';
import type { ItemDelta, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Json } from '../../kit/json/json.ts';
import { movedAnnotation, SEPARATOR } from '../shared/joined-text.ts';

/** Starts each message after the first with a blank line, for clients that concatenate the messages of an answer. */
export async function* separateMessages(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  /** The first message with text, which needs no separator. */
  let first: string | null = null;
  const separated = new Set<string>();
  for await (const event of events) {
    if (event.type === 'item-delta' && event.at === 'text') {
      if (event.delta !== '') first ??= event.itemId;
      const says = event.delta !== '' || event.annotation !== undefined;
      const begins = says && first !== null && event.itemId !== first && !separated.has(event.itemId);
      if (begins) separated.add(event.itemId);
      yield separated.has(event.itemId) ? separatedDelta(event, begins ? SEPARATOR : '') : event;
    } else if (event.type === 'item-ended' && isMessage(event.item) && separated.delete(event.item.id)) {
      yield { ...event, item: separatedMessage(event.item) };
    } else yield event;
  }
}

const separatedDelta = (event: ItemDelta, before: string): ItemDelta => ({
  ...event,
  delta: before + event.delta,
  ...(event.annotation === undefined ? {} : { annotation: moved(event.annotation) }),
});

const separatedMessage = (message: Produced<Message>): Produced<Message> => {
  const place = message.parts.findIndex(({ kind }) => kind === 'text');
  const part = message.parts[place];
  return part === undefined ? message : { ...message, parts: message.parts.with(place, separatedPart(part)) };
};

const separatedPart = (part: Part): Part =>
  part.kind === 'text'
    ? {
        ...part,
        text: SEPARATOR + part.text,
        ...(part.annotations === undefined ? {} : { annotations: part.annotations.map(moved) }),
      }
    : part;

const moved = (annotation: Json): Json => movedAnnotation(annotation, SEPARATOR.length);
