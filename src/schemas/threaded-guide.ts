import type { Guidance, ToolGuide } from '../engine/prose-tools/prose-request.ts';
import type { Clock } from '../kit/ambient.ts';
import { Recent } from '../kit/collections/recent.ts';
import {
  besideModule,
  createThreadPool,
  type GiveUpReason,
  type ThreadTimes,
} from '../threads/thread-pool.ts';

export interface ThreadedGuideOptions {
  readonly clock: Clock;
  /** A tool is not described. */
  readonly onUnexplained: (reason: GiveUpReason | 'too_large') => void;
  /** For one schema, where they differ from the usual ones. */
  readonly times?: Partial<ThreadTimes>;
}

export interface ThreadedGuide extends ToolGuide {
  /** Starts the thread, because tools are expected. */
  warmUp(): void;
  close(): Promise<void>;
}

/** For all schemas of a request, from its first one on. */
const TOTAL_MS = 2_000;

/** Larger than any schema worth describing. */
const MAX_SCHEMA_CHARS = 64 * 1024;
/** The tools of a conversation are sent again with each request. */
const MAX_KNOWN = 200;
const KNOWN_FOR_MS = 10 * 60_000;

/** Describes schemas in a worker thread, because they are untrusted and may take for ever. */
export const createThreadedGuide = ({ clock, onUnexplained, times }: ThreadedGuideOptions): ThreadedGuide => {
  const pool = createThreadPool<string, Guidance | null>({
    file: besideModule(import.meta.url, 'guide-thread'),
    // One key uses one of them.
    threads: 2,
    timeoutMs: 1_000,
    waitMs: 5_000,
    maxWaiting: 256,
    ...times,
  });
  const known = new Recent<Guidance | null>(MAX_KNOWN, KNOWN_FOR_MS, clock);

  const explain = async (schema: string, caller: string): Promise<Guidance | null | GiveUpReason> => {
    const outcome = await pool.run(schema, caller);
    // It would time out again.
    if (outcome.kind === 'done' || outcome.reason === 'late') {
      known.set(schema, outcome.kind === 'done' ? outcome.result : null);
    }
    return outcome.kind === 'done' ? outcome.result : outcome.reason;
  };

  return {
    async guide(schemas, caller) {
      const guidance: (Guidance | null)[] = [];
      let startedAt: number | null = null;
      let trouble: GiveUpReason | null = null;
      for (const schema of schemas) {
        const before = known.get(schema);
        if (before !== undefined) {
          guidance.push(before);
          continue;
        }
        if (startedAt !== null && clock.now() - startedAt > TOTAL_MS) trouble ??= 'late';
        const isLarge = schema.length > MAX_SCHEMA_CHARS;
        const outcome: Guidance | null | GiveUpReason = isLarge
          ? null
          : (trouble ?? (await explain(schema, caller)));
        if (isLarge) onUnexplained('too_large');
        startedAt ??= clock.now();
        if (typeof outcome === 'string') {
          // After a failure, the other schemas of the request are skipped.
          trouble ??= outcome;
          onUnexplained(outcome);
          guidance.push(null);
        } else guidance.push(outcome);
      }
      return guidance;
    },
    warmUp: () => pool.warmUp(),
    close: () => pool.close(),
  };
};
