import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

/** Limits; the oldest captures are removed. */
const MAX_CAPTURES = 1_000;
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;

/** Names of captures, which sort by age. Other files are never removed. */
const NAME = /^\d{8}T\d{9}Z-\d+-[\w.-]+\.jsonl$/;

export const isCaptureName = (name: string): boolean => NAME.test(name);

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
