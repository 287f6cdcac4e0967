import type { OpenRecorder } from '../canonical/context/trace.ts';
import { within } from '../kit/async/within.ts';
import { cleaner } from './redacted.ts';
import { CaptureDir } from './capture-dir.ts';
import { readCapture, type CapturedRequest } from './read-capture.ts';
import { CaptureFile, type LostReason } from './capture-file.ts';

interface OpenCapture extends OpenRecorder {
  /** The name of its file. */
  readonly name: string;
}

/** Captures of requests, one file each. */
export interface OpenCaptures {
  /** Null: too many captures are running. */
  open(requestId: string): OpenCapture | null;
  /** What the capture with this name says; null: there is none. */
  read(name: string): Promise<CapturedRequest | null>;
  /** Waits briefly for pending writes. */
  close(): Promise<void>;
}

export interface StoriesOptions {
  readonly directory: string;
  /** Texts that no capture may contain. */
  readonly secrets: readonly string[];
  /** The first record of each capture. */
  readonly settings: object;
  readonly onLost: (reason: LostReason, requestId: string, error: unknown) => void;
}

/** Captures at the same time. */
const MAX_OPEN = 64;
/** Limit for the unwritten bytes of all captures. */
const MAX_UNWRITTEN_BYTES = 256 * 1024 * 1024;
const CLOSE_MS = 2_000;

export const openCapture = async ({
  directory,
  secrets,
  settings,
  onLost,
}: StoriesOptions): Promise<OpenCaptures> => {
  const captureFolder = await CaptureDir.open(directory).catch((cause: unknown) => {
    throw new Error(`PROXY_CAPTURE_DIR=${directory} cannot be used: ${String(cause)}`, { cause });
  });
  const clean = cleaner(secrets);
  const open = new Set<CaptureFile>();
  const endings = new Set<Promise<void>>();
  let unwritten = 0;
  return {
    read: (name) => readCapture(directory, name),
    open(requestId) {
      if (open.size + endings.size >= MAX_OPEN) {
        onLost('crowded', requestId, null);
        return null;
      }
      const name = captureFolder.nameFor(new Date(), requestId);
      const trace = new CaptureFile({
        captureFolder,
        clean,
        name,
        now: () => performance.now(),
        weigh(bytes) {
          if (bytes > 0 && unwritten + bytes > MAX_UNWRITTEN_BYTES) return false;
          unwritten += bytes;
          return true;
        },
        onLost: (reason, error) => onLost(reason, requestId, error),
      });
      open.add(trace);
      trace.record('settings', settings);
      return {
        name,
        isRecording: true,
        record: (kind, facts) => trace.record(kind, facts),
        next: () => trace.next(),
        async end(facts) {
          open.delete(trace);
          const ending = trace.end(facts).finally(() => endings.delete(ending));
          endings.add(ending);
          await ending;
        },
      };
    },
    async close() {
      await within(Promise.allSettled(endings), CLOSE_MS);
    },
  };
};
