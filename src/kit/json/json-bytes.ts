import { writeJsonSteps } from './json-writer.ts';
import type { Sliced } from '../async/event-loop.ts';

/** Serialises JSON to bytes in steps. */
export function* jsonBytesSteps(value: unknown): Sliced<Uint8Array<ArrayBuffer>> {
  const pieces = yield* writeJsonSteps(value);
  const encoder = new TextEncoder();
  let charsLeft = pieces.reduce((sum, piece) => sum + piece.length, 0);
  // Most texts have few characters of several bytes.
  let whole = new Uint8Array(charsLeft + Math.ceil(charsLeft / SPARE) + LONGEST_CHARACTER);
  let at = 0;
  for (const piece of pieces) {
    for (let rest = piece; rest !== '';) {
      const { read, written } = encoder.encodeInto(rest, whole.subarray(at));
      charsLeft -= read;
      at += written;
      rest = rest.slice(read);
      // The text so far needed more bytes than expected, and so will the rest.
      if (rest !== '') whole = yield* enlarged(whole, at, at + charsLeft * 2 + LONGEST_CHARACTER);
    }
    yield;
  }
  return whole.subarray(0, at);
}

const SPARE = 16;
const LONGEST_CHARACTER = 4;

function* enlarged(bytes: Uint8Array, used: number, length: number): Sliced<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(length);
  for (let at = 0; at < used; at += COPY_BYTES) {
    copy.set(bytes.subarray(at, Math.min(used, at + COPY_BYTES)), at);
    yield;
  }
  return copy;
}

const COPY_BYTES = 256 * 1024;

/** Concatenates bytes in steps, because writing to fresh memory is slow. */
export function* joinSteps(parts: readonly Uint8Array[]): Sliced<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
    yield;
  }
  return whole;
}
