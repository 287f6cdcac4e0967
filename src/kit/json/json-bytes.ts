import { writeJsonSteps } from './json-writer.ts';
import type { Sliced } from '../async/event-loop.ts';

/** Serialises JSON to bytes in steps. */
export function* jsonBytesSteps(value: unknown): Sliced<Uint8Array<ArrayBuffer>> {
  const pieces = yield* writeJsonSteps(value);
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  for (const piece of pieces) {
    parts.push(encoder.encode(piece));
    yield;
  }
  return yield* joinSteps(parts);
}

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
