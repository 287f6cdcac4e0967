import { isJsonObject, listIn, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { UpstreamEvent } from '../../sources/upstream-event.ts';

/**
 * What belongs to one turn: the items that its model wrote. The app-server may append only these, and outputs of these
 * calls, to the input of the turn.
 */
export class OwnItems {
  readonly #ids = new Set<string>();
  readonly #callIds = new Set<string>();
  readonly #types = new Set<string>();
  readonly #texts = new Set<string>();

  see(signal: UpstreamEvent): void {
    if (signal.kind === 'answer-said' && signal.type === 'response.output_item.done')
      this.#note(signal.data['item']);
    if (signal.kind !== 'answer-ended' || signal.how !== 'completed') return;
    for (const item of listIn(signal.response ?? {}, 'output')) this.#note(item);
  }

  has(item: Json): boolean {
    if (!isJsonObject(item)) return false;
    const callId = textIn(item, 'call_id');
    // An output has an id of the app-server's own.
    if (callId !== '') return this.#callIds.has(callId);
    if (this.#ids.has(textIn(item, 'id'))) return true;
    const type = textIn(item, 'type');
    if (type === 'message') {
      const texts = partsOf(item);
      return item['role'] !== 'user' && texts.length > 0 && texts.every((text) => this.#texts.has(text));
    }
    // The app-server replaces an id that does not look like one.
    return this.#types.has(type);
  }

  #note(item: Json | undefined): void {
    if (!isJsonObject(item)) return;
    const [id, callId] = [textIn(item, 'id'), textIn(item, 'call_id')];
    if (id !== '') this.#ids.add(id);
    if (callId !== '') this.#callIds.add(callId);
    this.#types.add(textIn(item, 'type'));
    for (const text of partsOf(item)) this.#texts.add(text);
  }
}

const partsOf = (item: JsonObject): readonly string[] =>
  listIn(item, 'content').map((part) => (isJsonObject(part) ? textIn(part, 'text') : ''));
