import { constants } from 'node:fs';
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

import type { CapturedRequest } from '../../http/exchange/trace-request.ts';
import { isJsonObject, parseJsonObject, textIn, type JsonObject } from '../../kit/json/json.ts';

/** Limits; the oldest captures are removed. */
const MAX_CAPTURES = 1_000;
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;

/** Names of captures, which sort by age. Other files are never removed. */
const NAME = /^\d{8}T\d{9}Z-\d+-[\w.-]+\.jsonl$/;

export interface CaptureDirLimits {
  readonly captures: number;
  readonly bytes: number;
}

/** The directory of captures. */
export class CaptureDir {
  readonly #directory: string;
  readonly #limits: CaptureDirLimits;
  /** Oldest first. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  #made = 0;

  private constructor(directory: string, limits: CaptureDirLimits) {
    this.#directory = directory;
    this.#limits = limits;
  }

  /** Throws if the directory cannot be created or written. */
  static async open(
    directory: string,
    limits: CaptureDirLimits = { captures: MAX_CAPTURES, bytes: MAX_TOTAL_BYTES },
  ): Promise<CaptureDir> {
    const captureFolder = new CaptureDir(directory, limits);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const names = (await readdir(directory)).filter((name) => NAME.test(name)).toSorted();
    for (const name of names) {
      const size = await stat(path.join(directory, name)).then(
        (found) => found.size,
        () => 0,
      );
      captureFolder.#sizes.set(name, size);
      captureFolder.#bytes += size;
    }
    await captureFolder.#makeRoom();
    return captureFolder;
  }

  /** The name of a new file. */
  nameFor(startedAt: Date, requestId: string): string {
    this.#made += 1;
    const time = startedAt.toISOString().replaceAll(/[-:.]/g, '');
    return `${time}-${this.#made}-${requestId.replaceAll(/[^\w.-]/g, '_').slice(0, 100)}.jsonl`;
  }

  /** A new file that only the user of this process can read. */
  async create(name: string): Promise<FileHandle> {
    const handle = await open(path.join(this.#directory, name), 'wx', 0o600);
    this.#sizes.set(name, 0);
    return handle;
  }

  /** A capture is complete. */
  async settle(name: string, bytes: number): Promise<void> {
    // It was the oldest, and was removed.
    if (!this.#sizes.has(name)) return;
    this.#bytes += bytes - (this.#sizes.get(name) ?? 0);
    this.#sizes.set(name, bytes);
    await this.#makeRoom();
  }

  async #makeRoom(): Promise<void> {
    for (const [name, size] of this.#sizes) {
      if (this.#sizes.size <= this.#limits.captures && this.#bytes <= this.#limits.bytes) return;
      this.#sizes.delete(name);
      this.#bytes -= size;
      // Another process may have removed it.
      await unlink(path.join(this.#directory, name)).catch(() => {});
    }
  }
}

/** A capture is not longer. */
const MAX_FILE_BYTES = 17 * 1024 * 1024;
/** Longer lines are not parsed: that would take too long at once. */
const MAX_LINE_CHARS = 4 * 1024 * 1024;
const MAX_MODEL_REQUESTS = 8;

/** Reads the capture with this name. Null: there is none. */
export const readCapture = async (directory: string, name: string): Promise<CapturedRequest | null> => {
  const text = NAME.test(name) ? await readText(path.join(directory, name)) : null;
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
