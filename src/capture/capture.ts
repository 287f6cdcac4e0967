import type { OpenStory } from '../canonical/context/trace.ts';
import { within } from '../kit/async/within.ts';
import { cleaner } from './redacted.ts';
import { Shelf } from './capture-dir.ts';
import { StoryFile, type LostReason } from './capture-file.ts';

/** The stories of requests, a file each. */
export interface Stories {
  /** Null: too many are being told already. */
  open(requestId: string): OpenStory | null;
  /** Waits for what is still being written, for a moment. */
  close(): Promise<void>;
}

export interface StoriesOptions {
  readonly directory: string;
  /** What must not stand in any story. */
  readonly secrets: readonly string[];
  /** What is told first in each of them. */
  readonly settings: object;
  readonly onLost: (reason: LostReason, requestId: string, error: unknown) => void;
}

/** At the same time. */
const MAX_OPEN = 64;
/** What waits to be written, of all of them. */
const MAX_UNWRITTEN_BYTES = 256 * 1024 * 1024;
const CLOSE_MS = 2_000;

export const openStories = async ({
  directory,
  secrets,
  settings,
  onLost,
}: StoriesOptions): Promise<Stories> => {
  const shelf = await Shelf.open(directory).catch((cause: unknown) => {
    throw new Error(`PROXY_CAPTURE_DIR=${directory} cannot be used: ${String(cause)}`, { cause });
  });
  const clean = cleaner(secrets);
  const open = new Set<StoryFile>();
  const endings = new Set<Promise<void>>();
  let unwritten = 0;
  return {
    open(requestId) {
      if (open.size + endings.size >= MAX_OPEN) {
        onLost('crowded', requestId, null);
        return null;
      }
      const story = new StoryFile({
        shelf,
        clean,
        requestId,
        startedAt: new Date(),
        now: () => performance.now(),
        weigh(bytes) {
          if (bytes > 0 && unwritten + bytes > MAX_UNWRITTEN_BYTES) return false;
          unwritten += bytes;
          return true;
        },
        onLost: (reason, error) => onLost(reason, requestId, error),
      });
      open.add(story);
      story.tell('settings', settings);
      return {
        tell: (kind, facts) => story.tell(kind, facts),
        next: () => story.next(),
        async end(facts) {
          open.delete(story);
          const ending = story.end(facts).finally(() => endings.delete(ending));
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
