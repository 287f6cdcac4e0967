import { readFile } from 'node:fs/promises';

import type { TraceKind } from '../../src/canonical/context/trace.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../src/kit/json/json.ts';

/** A record of a capture without its time. */
export interface TraceRecord {
  readonly kind: TraceKind;
  readonly facts: JsonObject;
}

/** Reads a capture; the last line may be truncated. */
export const readCapture = async (file: string): Promise<readonly TraceRecord[]> => {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const record = lines.flatMap((line, at) => {
    const read = parseJsonObject(line);
    if (read === null) {
      if (at === lines.length - 1) return [];
      throw new Error(`line ${at + 1} of ${file} is not a JSON object`);
    }
    const { t: _, kind, ...facts } = read;
    return [{ kind: kind as TraceKind, facts }];
  });
  if (!record.some(({ kind }) => kind === 'body')) {
    throw new Error(
      `${file} is not a capture that can be replayed: it has no line with the body of a request`,
    );
  }
  return record;
};

export const writeCapture = (trace: readonly TraceRecord[]): string =>
  trace.map(({ kind, facts }) => `${JSON.stringify({ t: 0, kind, ...facts })}\n`).join('');

/** The facts of the first or last record of a kind. */
export const factsOf = (
  trace: readonly TraceRecord[],
  kind: TraceKind,
  which: 'first' | 'last' = 'first',
): JsonObject => {
  const all = trace.filter((record) => record.kind === kind);
  return all.at(which === 'first' ? 0 : -1)?.facts ?? {};
};

export const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};
