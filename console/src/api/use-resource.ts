import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What was loaded. After an error of a reload the last data is still there. */
export interface Resource<T> {
  readonly data: T | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface Options {
  /** Loads again after this time while the page is visible. */
  readonly everyMs?: number;
}

/** Loads data for a component, again whenever `key` changes. An answer that arrives too late is discarded. */
export const useResource = <T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs }: Options = {},
): Resource<T> => {
  const [state, setState] = useState<Omit<Resource<T>, 'reload'>>({
    data: null,
    error: null,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setRound((before) => before + 1), []);

  useEffect(() => {
    setState({ data: null, error: null, isLoading: true });
  }, [key]);

  useEffect(() => {
    const cancel = new AbortController();
    const run = async (): Promise<void> => {
      setState((before) => ({ ...before, isLoading: true }));
      try {
        const data = await latest.current(cancel.signal);
        if (!cancel.signal.aborted) setState({ data, error: null, isLoading: false });
      } catch (error) {
        if (!cancel.signal.aborted) setState(({ data }) => ({ data, error, isLoading: false }));
      }
    };
    void run();
    return () => cancel.abort();
  }, [key, round]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);

  return { ...state, reload };
};
