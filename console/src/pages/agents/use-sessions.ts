import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import type { List } from '../../api/use-pages.ts';
import {
  firstWords,
  pagePath,
  sessionPath,
  SESSIONS_PATH,
  type AgentItem,
  type AgentSession,
} from './agent-answers.ts';

const LIMIT = 20;
const EVERY_MS = 5000;

interface ShownSessions {
  /** Null until they were loaded. */
  readonly rows: readonly AgentSession[] | null;
  readonly hasMore: boolean;
  readonly isBusy: boolean;
  /** The last load failed; the rows are those of before. */
  readonly error: unknown;
}

interface Sessions extends ShownSessions {
  readonly loadMore: () => void;
}

/** Puts a new first page before older rows. What a full page should contain and does not was deleted. */
const merged = (
  { data, has_more: hasMore }: List<AgentSession>,
  before: readonly AgentSession[],
): readonly AgentSession[] => {
  if (!hasMore) return data;
  const fresh = new Set(data.map(({ id }) => id));
  const oldest = before.findIndex(({ id }) => id === data.at(-1)?.id);
  return [...data, ...before.slice(oldest + 1).filter(({ id }) => !fresh.has(id))];
};

/** The sessions of the key, the newest first. The first page is loaded again while the page is visible. */
export const useSessions = (): Sessions => {
  const [shown, setShown] = useState<ShownSessions>({
    rows: null,
    hasMore: false,
    isBusy: false,
    error: null,
  });
  const gone = useRef(new AbortController());
  const refresh = useCallback(async () => {
    const { signal } = gone.current;
    try {
      const page = await api.get<List<AgentSession>>(
        pagePath(SESSIONS_PATH, { limit: LIMIT, after: null }),
        signal,
      );
      if (signal.aborted) return;
      setShown((old) => {
        const rows = merged(page, old.rows ?? []);
        const hasMore = rows.length > page.data.length ? old.hasMore : page.has_more;
        return { ...old, rows, hasMore, error: null };
      });
    } catch (error) {
      if (!signal.aborted) setShown((old) => ({ ...old, error }));
    }
  }, []);
  useEffect(() => {
    const current = new AbortController();
    gone.current = current;
    void refresh();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refresh();
    }, EVERY_MS);
    return () => {
      current.abort();
      clearInterval(timer);
    };
  }, [refresh]);
  const loadMore = async (): Promise<void> => {
    const after = shown.rows?.at(-1)?.id ?? null;
    setShown((old) => ({ ...old, isBusy: true, error: null }));
    try {
      const page = await api.get<List<AgentSession>>(pagePath(SESSIONS_PATH, { limit: LIMIT, after }));
      setShown((old) => {
        const known = new Set(old.rows?.map(({ id }) => id));
        const rows = [...(old.rows ?? []), ...page.data.filter(({ id }) => !known.has(id))];
        return { rows, hasMore: page.has_more, isBusy: false, error: null };
      });
    } catch (error) {
      setShown((old) => ({ ...old, isBusy: false, error }));
    }
  };
  return { ...shown, loadMore: () => void loadMore() };
};

/** The first words of sessions: they never change. */
const known = new Map<string, string>();
const MAX_KNOWN = 500;

/** The first words of a session; null: it has none yet, or they were not loaded. */
export const useFirstWords = ({ id, last_active_at: activeAt }: AgentSession): string | null => {
  const [words, setWords] = useState(known.get(id) ?? null);
  useEffect(() => {
    if (known.has(id)) return undefined;
    const cancel = new AbortController();
    const path = pagePath(`${sessionPath(id)}/items`, { limit: 1, order: 'asc', after: null });
    api.get<List<AgentItem>>(path, cancel.signal).then(
      (items) => {
        const found = firstWords(items.data);
        if (found !== null) {
          if (known.size >= MAX_KNOWN) known.clear();
          known.set(id, found);
          setWords(found);
        }
        return found;
      },
      // The row is shown without them.
      () => null,
    );
    return () => cancel.abort();
  }, [id, activeAt]);
  return words;
};
