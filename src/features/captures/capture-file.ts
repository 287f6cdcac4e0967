import type { FileHandle } from 'node:fs/promises';

import type { OpenRecorder, TraceKind } from '../../canonical/context/trace.ts';
import { isHeavy, writeJsonSteps } from '../../kit/json/json-writer.ts';
import { runSliced, type Sliced } from '../../kit/async/event-loop.ts';
import type { Cleaner } from './redacted.ts';
import type { CaptureDir } from './capture-dir.ts';

const MAX_CAPTURE_BYTES = 16 * 1024 * 1024;
/** Limit of unwritten lines: more means that the disk is too slow. */
const MAX_UNWRITTEN = 20_000;
/** Maximum size of one write. */
const WRITE_CHARS = 256 * 1024;
const LARGE_CHARS = 16 * 1024;
/** The assumed size of a value that is not measured. */
const LARGE_WEIGHT = 4 * 1024 * 1024;
const SMALL_WEIGHT = 1024;

/** Why a capture is incomplete or missing. */
export type CaptureLoss = 'crowded' | 'slow' | 'disk';

export interface CaptureFileOptions {
  readonly captureFolder: CaptureDir;
  readonly clean: Cleaner;
  readonly name: string;
  readonly now: () => number;
  readonly maxBytes?: number;
  /** Reserves buffer space, shared by all captures; false: there is none. */
  readonly weigh: (bytes: number) => boolean;
  readonly onLost: (reason: CaptureLoss, error: unknown) => void;
}

interface CaptureLine {
  readonly t: number;
  readonly kind: TraceKind;
  readonly facts: object;
  readonly weight: number;
}

/**
 * One capture file: lines of JSON, written while the request runs, so that a crash loses little. The writer does not
 * wait: lines are buffered here until they are on disk, and the capture ends if that takes too long.
 */
export class CaptureFile implements OpenRecorder {
  readonly isRecording = true;
  readonly #options: CaptureFileOptions;
  readonly #startedMs: number;
  #lines: CaptureLine[] = [];
  #numbers = 0;
  #bytes = 0;
  #isOver = false;
  #writing: Promise<void> | null = null;
  #handle: FileHandle | null = null;

  constructor(options: CaptureFileOptions) {
    this.#options = options;
    this.#startedMs = options.now();
  }

  record(kind: TraceKind, facts: object): void {
    if (this.#isOver) return;
    const weight = isHeavy(facts, LARGE_CHARS) ? LARGE_WEIGHT : SMALL_WEIGHT;
    if (this.#lines.length >= MAX_UNWRITTEN || !this.#options.weigh(weight)) {
      this.#lose('slow', null);
      return;
    }
    this.#lines.push({ t: this.#elapsed(), kind, facts, weight });
    this.#writing ??= this.#write();
  }

  next(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  async end(facts: object): Promise<void> {
    this.record('end', facts);
    this.#isOver = true;
    // Lines that were recorded during this write are written next.
    while (this.#writing !== null) await this.#writing;
    await this.#close();
  }

  #elapsed(): number {
    return Math.round((this.#options.now() - this.#startedMs) * 10) / 10;
  }

  async #write(): Promise<void> {
    try {
      const { captureFolder, name } = this.#options;
      this.#handle ??= await captureFolder.create(name);
      while (this.#lines.length > 0) await this.#writeSome(this.#handle);
    } catch (error) {
      this.#lose('disk', error);
    } finally {
      this.#writing = null;
    }
  }

  async #writeSome(handle: FileHandle): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    const { clean, weigh, maxBytes = MAX_CAPTURE_BYTES } = this.#options;
    let text = '';
    try {
      for (const one of lines) {
        const line = await runSliced(lineSteps(one, clean), null);
        if (this.#bytes + Buffer.byteLength(line) > maxBytes) {
          this.#isOver = true;
          this.#forget();
          text += `${JSON.stringify({ t: one.t, kind: 'cut', at: one.kind, maxBytes })}\n`;
          break;
        }
        this.#bytes += Buffer.byteLength(line);
        text += line;
        if (text.length < WRITE_CHARS) continue;
        await handle.appendFile(text);
        text = '';
      }
      await handle.appendFile(text);
    } finally {
      for (const { weight } of lines) weigh(-weight);
    }
  }

  #lose(reason: CaptureLoss, error: unknown): void {
    if (this.#isOver && reason === 'slow') return;
    this.#isOver = true;
    this.#forget();
    this.#options.onLost(reason, error);
  }

  #forget(): void {
    for (const { weight } of this.#lines) this.#options.weigh(-weight);
    this.#lines = [];
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    if (handle === null) return;
    await handle.close().catch(() => {});
    await this.#options.captureFolder.settle(this.#options.name, this.#bytes);
  }
}

function* lineSteps({ t, kind, facts }: CaptureLine, clean: Cleaner): Sliced<string> {
  const cleaned = (yield* clean(facts)) as object;
  return `${(yield* writeJsonSteps({ t, kind, ...cleaned })).join('')}\n`;
}
