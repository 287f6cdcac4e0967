import { readFile } from 'node:fs/promises';

import type { TraceKind } from '../../src/canonical/context/trace.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../src/kit/json/json.ts';

/** One line of a capture, besides its time and kind. */
export interface Told {
  readonly kind: TraceKind;
  readonly facts: JsonObject;
}

/** A story as it was written; the last line may have been cut off. */
export const readStory = async (file: string): Promise<readonly Told[]> => {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const told = lines.flatMap((line, at) => {
    const read = parseJsonObject(line);
    if (read === null) {
      if (at === lines.length - 1) return [];
      throw new Error(`line ${at + 1} of ${file} is not a JSON object`);
    }
    const { t: _, kind, ...facts } = read;
    return [{ kind: kind as TraceKind, facts }];
  });
  if (!told.some(({ kind }) => kind === 'body')) {
    throw new Error(
      `${file} is not a capture that can be replayed: it has no line with the body of a request`,
    );
  }
  return told;
};

export const writeStory = (trace: readonly Told[]): string =>
  trace.map(({ kind, facts }) => `${JSON.stringify({ t: 0, kind, ...facts })}\n`).join('');

/** The first line of a kind, or the last. */
export const factsOf = (
  trace: readonly Told[],
  kind: TraceKind,
  which: 'first' | 'last' = 'first',
): JsonObject => {
  const all = trace.filter((told) => told.kind === kind);
  return all.at(which === 'first' ? 0 : -1)?.facts ?? {};
};

export const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};
