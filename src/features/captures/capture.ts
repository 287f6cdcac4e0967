import type { CaptureFiles } from '../../http/exchange/trace-request.ts';
import type { Clock } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import { cleaner } from './redacted.ts';
import { CaptureDir, readCapture } from './capture-dir.ts';
import { CaptureFile, type CaptureLoss } from './capture-file.ts';

/** The requests that an administrator wants to be captured: the next ones, for an hour at most. */
export interface CaptureOrder {
  /** Null: of any key. */
  readonly keyId: string | null;
  readonly requests: number;
}

export interface CaptureStatus {
  /** `next`: only the requests of an order. */
  readonly mode: 'all' | 'next' | 'off';
  readonly directory: string;
  /** How many of them are left; null: there is none, or all requests are captured. */
  readonly order: (CaptureOrder & { readonly expiresAt: number }) | null;
}

/** Captures of requests, one file each. */
export interface OpenCaptures extends CaptureFiles {
  /** Captures the next requests, in place of an earlier order. Rejects if the directory cannot be used. */
  order(next: CaptureOrder): Promise<void>;
  /** Ends the order. */
  cancel(): void;
  status(): CaptureStatus;
  /** Waits briefly for pending writes. */
  close(): Promise<void>;
}

export interface CaptureOptions {
  readonly directory: string;
  /** Whether every request is captured; else only those of an order, and the directory is made for the first one. */
  readonly isAlways: boolean;
  readonly clock: Clock;
  /** Texts that no capture may contain. */
  readonly secrets: readonly string[];
  /** The first record of each capture. */
  readonly settings: object;
  readonly onOrder: (order: CaptureOrder) => void;
  readonly onLost: (reason: CaptureLoss, requestId: string, error: unknown) => void;
}

/** Captures at the same time. */
const MAX_OPEN = 64;
/** Limit for the unwritten bytes of all captures. */
const MAX_UNWRITTEN_BYTES = 256 * 1024 * 1024;
const CLOSE_MS = 2_000;
/** An order ends by itself: an administrator may forget it. */
const ORDER_MS = 60 * 60_000;

export const openCapture = async ({
  directory,
  isAlways,
  clock,
  secrets,
  settings,
  onOrder,
  onLost,
}: CaptureOptions): Promise<OpenCaptures> => {
  const openFolder = (): Promise<CaptureDir> =>
    CaptureDir.open(directory).catch((cause: unknown) => {
      const name = isAlways ? `PROXY_CAPTURE_DIR=${directory}` : directory;
      throw new Error(`${name} cannot be used: ${String(cause)}`, { cause });
    });
  let captureFolder = isAlways ? await openFolder() : null;
  let ordered: CaptureStatus['order'] = null;
  const orderNow = (): CaptureStatus['order'] => {
    if (ordered !== null && ordered.expiresAt <= clock.now()) ordered = null;
    return ordered;
  };
  const clean = cleaner(secrets);
  const open = new Set<CaptureFile>();
  const endings = new Set<Promise<void>>();
  let unwritten = 0;
  return {
    isAlways,
    read: (name) => readCapture(directory, name),
    async order(next) {
      if (isAlways) return;
      captureFolder ??= await openFolder();
      ordered = { ...next, expiresAt: clock.now() + ORDER_MS };
      onOrder(next);
    },
    cancel() {
      ordered = null;
    },
    status() {
      const order = orderNow();
      const mode = order === null ? 'off' : 'next';
      return { mode: isAlways ? 'all' : mode, directory, order };
    },
    open(requestId, keyId) {
      const order = orderNow();
      const isOrdered = order !== null && (order.keyId === null || order.keyId === keyId);
      if (captureFolder === null || !(isAlways || isOrdered)) return null;
      if (open.size + endings.size >= MAX_OPEN) {
        onLost('crowded', requestId, null);
        return null;
      }
      if (order !== null) ordered = order.requests === 1 ? null : { ...order, requests: order.requests - 1 };
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
