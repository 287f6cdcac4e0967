import { createHash } from 'node:crypto';

import type { AnswerStep, CallingAnswer } from '../../engine/memory/restore-reasoning.ts';
import type { SharedReasoning } from '../../engine/memory/reasoning-memory.ts';
import type { Clock } from '../../kit/ambient.ts';
import { WriteQueue } from '../../kit/async/write-queue.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import { parseJsonObject } from '../../kit/json/json.ts';
import type { MemoryStore } from '../store.ts';
import type { MemoryAccess } from './memory-access.ts';

export interface StoredReasoningOptions {
  readonly memory: MemoryStore;
  readonly access: MemoryAccess;
  /** Since the last request that needed it. */
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Called when the store is too slow for all that is to be written. */
  readonly onOverflow: () => void;
}

interface ReasoningWrite {
  readonly hash: string;
  /** Null: the key is dropped. */
  readonly value: string | null;
  readonly expiresAt: number;
}

/** Of one answer; a longer one is in memory only. */
const MAX_ANSWER_CHARS = 1024 * 1024;
/** Writes that wait; one with many characters counts as several, so that there are at most 16 million of them. */
const MAX_WAITING = 10_000;
const CHARS_OF_ONE = 1_600;
const WRITES_AT_ONCE = 32;
/**
 * Answers of models that do not reason would be looked for in every turn. The first pause is short, because another
 * instance may just be writing the answer.
 */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;
const MAX_ABSENT = 10_000;

/** The form of the values. A program ignores all others. */
const FORM = 1;

/**
 * Remembered answers in the store. Keys are hashed, so that they contain nothing of a request. The first call of an
 * answer has the answer, its other calls have the key of the first.
 */
export class StoredReasoning implements SharedReasoning {
  readonly #options: StoredReasoningOptions;
  readonly #savedAt = new WeakMap<CallingAnswer, number>();
  /** Keys that were looked for without success, or are dropped. */
  readonly #absent = new Map<string, { readonly since: number; readonly pauseMs: number }>();
  /** An answer is saved at its first call and at its end, which often come together: the later one is written. */
  readonly #queue = new WriteQueue<ReasoningWrite>({
    write: ([write]) => this.#store(write),
    atOnce: WRITES_AT_ONCE,
    max: MAX_WAITING,
    sizeOf: ({ value }) => Math.max(1, Math.ceil((value?.length ?? 0) / CHARS_OF_ONE)),
  });

  constructor(options: StoredReasoningOptions) {
    this.#options = options;
  }

  async load(keys: readonly string[]): Promise<ReadonlyMap<string, CallingAnswer>> {
    const hashes = new Map(keys.map((key) => [hashOf(key), key]));
    for (const hash of hashes.keys()) if (this.#isAbsent(hash)) hashes.delete(hash);
    const { memory, access } = this.#options;
    const found =
      hashes.size === 0 ? null : await access.read(() => memory.get('reasoning', [...hashes.keys()]));
    const loaded = new Map<string, CallingAnswer>();
    if (found === null) return loaded;
    const values = new Map([...found].map(([hash, text]) => [hash, this.#read(text)]));
    for (const [hash, key] of hashes) {
      // It may have been dropped in the meantime.
      if (this.#isAbsent(hash)) continue;
      const value = values.get(hash);
      const answer = typeof value === 'string' ? values.get(value) : value;
      if (answer !== undefined && answer !== null && typeof answer !== 'string') loaded.set(key, answer);
      else this.#missed(hash);
    }
    return loaded;
  }

  save(keys: readonly string[], answer: CallingAnswer): void {
    const [first, ...others] = keys.map(hashOf);
    const now = this.#options.clock.now();
    const value = JSON.stringify({ form: FORM, at: now, steps: answer.steps });
    if (first === undefined || value.length > MAX_ANSWER_CHARS) return;
    this.#savedAt.set(answer, now);
    this.#write(first, value);
    for (const hash of others) this.#write(hash, JSON.stringify({ form: FORM, see: first }));
  }

  renew(keys: readonly string[], answer: CallingAnswer): void {
    const { ttlMs, clock } = this.#options;
    if (clock.now() - (this.#savedAt.get(answer) ?? 0) >= ttlMs / 2) this.save(keys, answer);
  }

  drop(keys: readonly string[]): void {
    for (const key of keys) this.#write(hashOf(key), null);
  }

  /** Resolves when nothing waits to be written. */
  async settled(): Promise<void> {
    await this.#queue.flush();
  }

  #isAbsent(hash: string): boolean {
    const absent = this.#absent.get(hash);
    if (absent === undefined) return false;
    const ms = this.#options.clock.now() - absent.since;
    return ms >= 0 && ms < absent.pauseMs;
  }

  #missed(hash: string): void {
    const { pauseMs = FIRST_PAUSE_MS / 2 } = this.#absent.get(hash) ?? {};
    this.#markAbsent(hash, Math.min(2 * pauseMs, LAST_PAUSE_MS));
  }

  #markAbsent(hash: string, pauseMs: number): void {
    this.#absent.delete(hash);
    this.#absent.set(hash, { since: this.#options.clock.now(), pauseMs });
    forgetOldest(this.#absent, MAX_ABSENT);
  }

  /** The answer, or the key of the call that has it. */
  #read(text: string): CallingAnswer | string | null {
    const value = parseJsonObject(text);
    if (value?.['form'] !== FORM) return null;
    const { at, steps, see } = value;
    if (typeof see === 'string') return see;
    if (!Array.isArray(steps)) return null;
    const answer = answerOf(steps);
    this.#savedAt.set(answer, typeof at === 'number' ? at : 0);
    return answer;
  }

  #write(hash: string, value: string | null): void {
    const { clock, ttlMs, onOverflow } = this.#options;
    this.#absent.delete(hash);
    // A drop holds at once: until it is written, the store still has the value.
    if (value === null) this.#markAbsent(hash, Infinity);
    if (!this.#queue.put(hash, { hash, value, expiresAt: clock.now() + ttlMs })) onOverflow();
  }

  async #store(write: ReasoningWrite): Promise<void> {
    const { memory, access } = this.#options;
    const { hash, value, expiresAt } = write;
    await access.write(() =>
      value === null ? memory.drop('reasoning', [hash]) : memory.put('reasoning', hash, value, expiresAt),
    );
    // Another instance may write it again; a read that began before the drop has ended by then.
    if (value === null && this.#absent.has(hash)) this.#markAbsent(hash, FIRST_PAUSE_MS);
  }
}

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const answerOf = (steps: readonly AnswerStep[]): CallingAnswer => ({
  steps,
  calls: new Map(steps.flatMap((step, at) => (step.kind === 'call' ? [[step.callId, at] as const] : []))),
});
