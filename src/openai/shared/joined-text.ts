import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** Separates two texts that a client gets as one. */
export const SEPARATOR = '\n\n';

/** Joins texts with a blank line between them; empty texts are skipped. Streams use it per delta, JSON per text. */
export class JoinedText {
  #length = 0;
  #part: string | null = null;

  /** The length of the joined text so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds a piece of the text with the id `part`, and returns what to append. */
  add(part: string, piece: string): string {
    if (piece === '') return '';
    const added = this.#part === null || this.#part === part ? piece : SEPARATOR + piece;
    this.#part = part;
    this.#length += added.length;
    return added;
  }
}

/** Shifts the positions of a citation. */
export const movedAnnotation = (annotation: Json, by: number): Json => {
  if (!isJsonObject(annotation)) return annotation;
  const places = ['start_index', 'end_index', 'index'].flatMap((name) => {
    const place = annotation[name];
    return typeof place === 'number' ? [[name, place + by] as const] : [];
  });
  return { ...annotation, ...Object.fromEntries(places) };
};
