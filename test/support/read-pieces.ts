import { atOnce } from '../../src/kit/async/event-loop.ts';
import { BlockReader, type TextEnd, type Piece } from '../../src/engine/prose-tools/read-blocks.ts';
import type { WrittenCall } from '../../src/engine/prose-tools/written-call.ts';

/** Text with the calls between its pieces. */
export type Read = (string | WrittenCall | typeof HALF)[];

/** The text ended within a call. */
export const HALF = { isHalf: true } as const;

/** Joins adjacent texts. */
export const joined = (pieces: readonly Piece[]): Read => {
  const read: Read = [];
  for (const piece of pieces) {
    if (piece.kind === 'cut') read.push(...piece.calls);
    else if (piece.kind === 'half') read.push(HALF);
    else if (typeof read.at(-1) === 'string') read.push(`${read.pop() as string}${piece.text}`);
    else read.push(piece.text);
  }
  return read;
};

/** `deltas` may be a text: then each character is one. */
export const piecesOf = (deltas: Iterable<string>, how: TextEnd = 'finished'): readonly Piece[] => {
  const reader = new BlockReader();
  const pieces: Piece[] = [];
  for (const delta of deltas) for (const piece of atOnce(reader.read(delta))) pieces.push(piece);
  return [...pieces, ...atOnce(reader.end(how))];
};
export const readAll = (deltas: Iterable<string>, how?: TextEnd): Read => joined(piecesOf(deltas, how));

/** The whole text, if nothing is a call. */
export const textOf = (read: Read): string =>
  read.map((one) => (typeof one === 'string' ? one : 'name' in one ? one.name : '')).join('');
