import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import type { WholeItem } from '../translate/wire-report.ts';

/**
 * Which items of an answer were streamed to their end. Some backends stream deltas only, or nothing at
 * all, and say what the items were in the answer's last event, where the app-server does not look.
 */
export class StreamedItems {
  readonly #names = new Set<string>();
  readonly #places = new Set<number>();
  #count = 0;
  #isKnown = true;

  /** One more is done; null: it was too long to be read. */
  done(event: JsonObject | null): void {
    this.#count += 1;
    const item = event?.['item'];
    if (event === null || !isJsonObject(item)) {
      this.#isKnown = false;
      return;
    }
    for (const name of namesOf(item)) this.#names.add(name);
    if (typeof event['output_index'] === 'number') this.#places.add(event['output_index']);
  }

  /** What of an answer's output was not. Where that is not sure, nothing: no item may come twice. */
  missingIn(output: Json | undefined): readonly JsonObject[] {
    if (!Array.isArray(output) || !this.#isKnown || this.#count >= output.length) return [];
    return (output as readonly Json[]).filter(
      (item, place): item is JsonObject =>
        isJsonObject(item) &&
        !this.#places.has(place) &&
        !namesOf(item).some((name) => this.#names.has(name)),
    );
  }
}

const namesOf = (item: JsonObject): readonly string[] =>
  [item['id'], item['call_id']].filter((name) => typeof name === 'string' && name !== '') as string[];

/** The item as the app-server would have told it; null for what no client gets in this way. */
export const toWholeItem = (item: JsonObject): WholeItem | null => {
  const type = typeof item['type'] === 'string' ? item['type'] : '';
  const id = typeof item['id'] === 'string' ? { id: item['id'] } : {};
  const status = typeof item['status'] === 'string' ? { status: item['status'] } : {};
  switch (type) {
    case 'message': {
      const { phase } = item;
      const parts = partsOf(item['content'], 'output_text').map((part) => ({
        type: 'output_text' as const,
        text: part.text,
        annotations: listOf(part.rest['annotations']),
        logprobs: listOf(part.rest['logprobs']),
      }));
      const isKnown = phase === 'commentary' || phase === 'final_answer';
      return { type, ...id, ...status, ...(isKnown ? { phase } : {}), role: 'assistant', content: parts };
    }
    case 'reasoning': {
      const encrypted = item['encrypted_content'];
      return {
        type,
        ...id,
        summary: partsOf(item['summary'], 'summary_text').map(({ text }) => ({ type: 'summary_text', text })),
        content: partsOf(item['content'], 'reasoning_text').map(({ text }) => ({
          type: 'reasoning_text',
          text,
        })),
        encrypted_content: typeof encrypted === 'string' ? encrypted : null,
      };
    }
    case 'function_call': {
      const { name, call_id: callId, arguments: args } = item;
      if (typeof name !== 'string' || typeof callId !== 'string') return null;
      return { type, ...id, name, call_id: callId, arguments: typeof args === 'string' ? args : '' };
    }
    default:
      return null;
  }
};

/** The words with which a message refuses; null for one that does not. */
export const refusalIn = (item: JsonObject): string | null => {
  const parts = item['type'] === 'message' ? listOf(item['content']).filter(isJsonObject) : [];
  const refusals = parts.flatMap(({ type, refusal }) =>
    type === 'refusal' && typeof refusal === 'string' ? [refusal] : [],
  );
  return refusals.length === 0 ? null : refusals.join('');
};

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

const partsOf = (value: Json | undefined, type: string): { text: string; rest: JsonObject }[] =>
  listOf(value)
    .filter(isJsonObject)
    .flatMap((part) =>
      part['type'] === type && typeof part['text'] === 'string' ? [{ text: part['text'], rest: part }] : [],
    );
