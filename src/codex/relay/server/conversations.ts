import { chmod, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { isRealUuidV7, uuidV7 } from '../request/uuid-v7.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/forget-oldest.ts';
import { within } from '../../../kit/async/within.ts';

/** The backend's id of each conversation: the same for all its turns, even after a restart. */
export interface Conversations {
  /** `key` is `TurnRequest.conversation`. Creates an id for an unknown key. */
  idOf(key: string): string;
  /** Writes pending entries, if the disk allows it. */
  close(): Promise<void>;
}

export interface ConversationsOptions {
  readonly file: string;
  /** Number of recently used conversations to remember; an older one gets a new id. */
  readonly max?: number;
  readonly clock: Clock;
  /** Called once if ids cannot be persisted across a restart; everything else works. */
  readonly onError: (error: unknown) => void;
}

const MAX_CONVERSATIONS = 10_000;
/** `<32 hex digits> <UUID>` and a line feed. */
const LINE_BYTES = 32 + 1 + 36 + 1;
/** A blocked disk must not keep a server from stopping. */
const CLOSE_WAIT_MS = 2_000;

export const openConversations = async (options: ConversationsOptions): Promise<Conversations> => {
  const { file, max = MAX_CONVERSATIONS, clock } = options;
  const log = new ConversationLog(file, max, options.onError);
  /** In order of last use. `line`: number of the newest line about the conversation. */
  const known = new Map<string, { readonly id: string; readonly line: number }>();
  let lines = 0;
  const use = (key: string, id: string, line: number): void => {
    known.delete(key);
    known.set(key, { id, line });
    forgetOldest(known, max);
  };
  const write = (key: string, id: string): void => {
    log.append(key, id);
    lines += 1;
    use(key, id, lines);
  };
  for (const [key, id] of await log.read()) {
    lines += 1;
    use(key, id, lines);
  }
  return {
    idOf(key) {
      const found = known.get(key);
      const id = found?.id ?? uuidV7(clock.now());
      // The file keeps the newest lines, so an active conversation must be written again before its line is
      // dropped.
      if (found === undefined || lines - found.line >= max / 2) write(key, id);
      else use(key, id, found.line);
      return id;
    },
    close: () => log.close(),
  };
};

/**
 * One line per conversation, newest last. Batches are appended in one write, so several servers may share the
 * file. It is rewritten at twice its limit; a line that another server appends at that moment is lost, which
 * costs one conversation its id after a restart.
 */
class ConversationLog {
  readonly #file: string;
  readonly #max: number;
  readonly #onError: (error: unknown) => void;
  #unwritten = new Map<string, string>();
  #writing: Promise<void> | null = null;
  /** The last line may be incomplete after a full disk or the end of the process. */
  #isTorn = true;
  #hasReportedError = false;

  constructor(file: string, max: number, onError: (error: unknown) => void) {
    this.#file = file;
    this.#max = max;
    this.#onError = onError;
  }

  /** The newest entries, oldest first; skips invalid lines. */
  async read(): Promise<ReadonlyMap<string, string>> {
    try {
      await mkdir(path.dirname(this.#file), { recursive: true, mode: 0o700 });
      const entries = parse(await this.#tail());
      // Best effort: the file is readable even if another user owns it.
      await chmod(this.#file, 0o600).catch(() => {});
      return entries;
    } catch (error) {
      this.#report(error);
      return new Map();
    }
  }

  append(key: string, id: string): void {
    this.#unwritten.delete(key);
    this.#unwritten.set(key, id);
    forgetOldest(this.#unwritten, this.#max);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
  }

  async close(): Promise<void> {
    if (this.#writing !== null) await within(this.#writing, CLOSE_WAIT_MS);
  }

  /** Entries that arrive during a write form the next batch. */
  async #write(): Promise<void> {
    // Never within the caller's `idOf`.
    await Promise.resolve();
    while (this.#unwritten.size > 0) {
      const batch = this.#unwritten;
      this.#unwritten = new Map();
      try {
        await this.#add(batch);
      } catch (error) {
        // Retried with the next batch: a full disk may have space by then.
        this.#unwritten = newest([...batch, ...this.#unwritten], this.#max);
        this.#isTorn = true;
        this.#report(error);
        return;
      }
    }
  }

  async #add(batch: ReadonlyMap<string, string>): Promise<void> {
    const handle = await open(this.#file, 'a', 0o600);
    let size: number;
    try {
      await handle.appendFile((this.#isTorn ? '\n' : '') + print(batch));
      this.#isTorn = false;
      ({ size } = await handle.stat());
    } finally {
      await handle.close();
    }
    if (size > 2 * this.#max * LINE_BYTES) await this.#rewrite();
  }

  async #rewrite(): Promise<void> {
    const draft = `${this.#file}.${process.pid}.tmp`;
    try {
      await writeFile(draft, print(newest([...parse(await this.#tail())], this.#max)), { mode: 0o600 });
      await rename(draft, this.#file);
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** Reads no more of the file than it may hold. */
  async #tail(): Promise<string> {
    const handle = await open(this.#file, 'r').catch(ignoreMissing);
    if (handle === undefined) return '';
    try {
      const { size } = await handle.stat();
      const length = Math.min(size, 3 * this.#max * LINE_BYTES);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.subarray(0, bytesRead).toString('latin1');
    } finally {
      await handle.close();
    }
  }

  #report(error: unknown): void {
    if (this.#hasReportedError) return;
    this.#hasReportedError = true;
    this.#onError(error);
  }
}

const print = (entries: ReadonlyMap<string, string>): string =>
  [...entries].map(([key, id]) => `${key} ${id}\n`).join('');

const parse = (text: string): Map<string, string> => {
  const entries = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, key, id] = /^([0-9a-f]{32}) (\S{36})$/.exec(line) ?? [];
    if (key === undefined || id === undefined || !isRealUuidV7(id, Infinity)) continue;
    // The newest line about a conversation counts, and determines its position.
    entries.delete(key);
    entries.set(key, id);
  }
  return entries;
};

const newest = (entries: readonly (readonly [string, string])[], max: number): Map<string, string> =>
  new Map(entries.slice(-max));

const ignoreMissing = (error: unknown): undefined => {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
  throw error;
};
