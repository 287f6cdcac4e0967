import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

import { isJsonObject, parseJsonObject, textIn, type JsonObject } from '../kit/json/json.ts';
import { isCaptureName } from './capture-dir.ts';

/** What a capture says about a request. Secrets, encrypted texts and very long ones are replaced in it. */
export interface CapturedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: JsonObject;
  /** Null: the body could not be read, or is too large to be shown. */
  readonly body: JsonObject | null;
  /** What was sent to the backend, in order. */
  readonly modelRequests: readonly JsonObject[];
  /** Some lines are too long to be read, or there are too many requests. */
  readonly isPartial: boolean;
}

/** A capture is not longer. */
const MAX_FILE_BYTES = 17 * 1024 * 1024;
/** Longer lines are not parsed: that would take too long at once. */
const MAX_LINE_CHARS = 4 * 1024 * 1024;
const MAX_MODEL_REQUESTS = 8;

/** Reads the capture with this name. Null: there is none. */
export const readCapture = async (directory: string, name: string): Promise<CapturedRequest | null> => {
  const text = isCaptureName(name) ? await readText(path.join(directory, name)) : null;
  return text === null ? null : capturedIn(text);
};

const readText = async (file: string): Promise<string | null> => {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.min(size, MAX_FILE_BYTES));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
};

const KIND = /^\{"t":[\d.]+,"kind":"(asked|body|wire-sent)"/;

const capturedIn = (text: string): CapturedRequest => {
  let asked: JsonObject = {};
  let body: JsonObject | null = null;
  const modelRequests: JsonObject[] = [];
  let isPartial = false;
  for (const line of text.split('\n')) {
    const kind = KIND.exec(line.slice(0, 64))?.[1];
    if (kind === undefined) continue;
    const facts = line.length > MAX_LINE_CHARS ? null : parseJsonObject(line);
    const isFull = kind === 'wire-sent' && modelRequests.length >= MAX_MODEL_REQUESTS;
    if (facts === null || isFull) isPartial = true;
    else if (kind === 'asked') asked = facts;
    else if (kind === 'body') body = memberOf(facts, 'body');
    else modelRequests.push(memberOf(facts, 'after') ?? {});
  }
  const headers = memberOf(asked, 'head') ?? {};
  return {
    method: textIn(asked, 'method'),
    path: textIn(asked, 'path'),
    headers,
    body,
    modelRequests,
    isPartial,
  };
};

const memberOf = (object: JsonObject, name: string): JsonObject | null => {
  const value = object[name];
  return isJsonObject(value) ? value : null;
};
