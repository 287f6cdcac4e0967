import { isClientCall } from '../../../canonical/request/tool.ts';
import { isJsonObject, type Json, type JsonObject, listIn, textIn } from '../../../kit/json/json.ts';
import { readItem } from '../../sources/read-item.ts';
import type { UpstreamEvent } from '../../sources/source.ts';

/** The items of one answer in order: those that codex drops or reduces are kept whole, of all others only the type. */
type Answer = (JsonObject & { readonly type: string })[];

/** The model's output so far in a turn. codex drops items of hosted tools when it calls the model again. */
export class TurnAnswers {
  readonly #all: Answer[] = [];

  see(signal: UpstreamEvent): void {
    if (signal.kind === 'answer-started') this.#all.push([]);
    const current = this.#all.at(-1);
    if (current === undefined) return;
    if (signal.kind === 'answer-said' && signal.type === 'response.output_item.done') {
      note(current, signal.data['item']);
    }
    if (signal.kind !== 'answer-ended') return;
    // codex drops an answer that failed. Of one interrupted by steering it keeps complete items.
    if (signal.how === 'cut' || signal.how === 'incomplete') this.#all.pop();
    else if (signal.how === 'completed' && current.length === 0) {
      const output = signal.response?.['output'];
      if (Array.isArray(output)) for (const item of output as readonly Json[]) note(current, item);
    }
  }

  /** Adds the items that codex dropped to those after the client's items in its next request. */
  restoreInto(behind: readonly Json[]): readonly Json[] {
    if (!this.#all.some((answer) => answer.some(isWhole))) return behind;
    const places = placesByType(behind);
    const whole: Json[] = [];
    let next = 0;
    const passTo = (place: number): void => {
      for (; next < place; next += 1) whole.push(behind[next] ?? null);
    };
    const placeOf = (type: string): number | undefined => {
      const left = places.get(type) ?? [];
      while ((left.at(-1) ?? next) < next) left.pop();
      return left.pop();
    };
    for (const answer of this.#all) {
      // Outputs belong to the answer before.
      let outputs = next;
      while (typeOf(behind[outputs]).endsWith('_output')) outputs += 1;
      passTo(outputs);
      const answered = new Set(
        answer.flatMap(({ type, call_id: id }) => (type.endsWith('_output') ? [id] : [])),
      );
      for (const item of answer) {
        const place = placeOf(item.type);
        if (place !== undefined) passTo(place);
        if (!isWhole(item)) passTo(next + (place === undefined ? 0 : 1));
        // A call without an output would be refused.
        else if (place !== undefined || !isClientCall(item.type) || answered.has(item['call_id'])) {
          whole.push(item);
          if (place !== undefined) next += 1;
        }
      }
    }
    passTo(behind.length);
    return whole;
  }
}

const note = (answer: Answer, item: Json | undefined): void => {
  if (!isJsonObject(item)) return;
  const type = typeOf(item);
  const read = KEPT.has(type) ? null : readItem(item);
  answer.push(read !== null && typeof read === 'object' && 'raw' in read ? read.raw : { type });
};

/** Types that codex keeps, as it does most output; their content is not needed here. */
const KEPT: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

/** Of the others only the type is kept. */
const isWhole = (item: JsonObject): boolean => Object.keys(item).length > 1;

/** Positions by type, last one first. */
const placesByType = (items: readonly Json[]): ReadonlyMap<string, number[]> =>
  Map.groupBy([...items.keys()].toReversed(), (place) => typeOf(items[place]));

const typeOf = (item: Json | undefined): string => {
  const type = isJsonObject(item) ? item['type'] : undefined;
  return typeof type === 'string' ? type : '';
};

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
