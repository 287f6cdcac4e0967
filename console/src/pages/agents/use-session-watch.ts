import { useEffect, useRef, useState } from 'preact/hooks';

import { FIRST_STATE, SessionWatch, type WatchState } from './session-watch.ts';

interface Watching extends WatchState {
  readonly retry: () => void;
  readonly loadEarlier: () => void;
}

/** Follows a session for as long as the component is shown. */
export const useSessionWatch = (id: string): Watching => {
  const [state, setState] = useState(FIRST_STATE);
  const watch = useRef<SessionWatch | null>(null);
  useEffect(() => {
    const started = new SessionWatch(id, setState);
    watch.current = started;
    void started.run();
    return () => started.stop();
  }, [id]);
  return {
    ...state,
    retry: () => watch.current?.retry(),
    loadEarlier: () => void watch.current?.loadEarlier(),
  };
};
