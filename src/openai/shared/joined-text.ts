import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** What stands between two texts that a client gets as one. */
export const SEPARATOR = '\n\n';

/**
 * Several texts as one, with a blank line between them; empty ones leave no trace. A stream and its
 * JSON form both go through this, delta by delta or text by text, and so agree.
 */
export class JoinedText {
  #length = 0;
  #part: string | null = null;

  /** How much was said so far. */
  get length(): number {
    return this.#length;
  }

  /** What a piece of the text named `part` adds. */
  add(part: string, piece: string): string {
    if (piece === '') return '';
    const added = this.#part === null || this.#part === part ? piece : SEPARATOR + piece;
    this.#part = part;
    this.#length += added.length;
    return added;
  }
}

/** A citation counts from the beginning of its text: here, with so much in front of it. */
export const movedAnnotation = (annotation: Json, by: number): Json => {
  if (!isJsonObject(annotation)) return annotation;
  const places = ['start_index', 'end_index', 'index'].flatMap((name) => {
    const place = annotation[name];
    return typeof place === 'number' ? [[name, place + by] as const] : [];
  });
  return { ...annotation, ...Object.fromEntries(places) };
};
