import { useEffect, useState } from 'preact/hooks';

import { send } from '../../api/client.ts';
import { readEvents } from '../../api/read-events.ts';
import { NO_REQUESTS, withMessage, type LiveList, type LiveMessage } from './live-list.ts';
import { LIVE_PATH } from './request-answers.ts';

interface Live {
  readonly list: LiveList;
  readonly isLive: boolean;
}

const AGAIN_MS = 2000;

/** Reads the live stream of requests for as long as the component is shown. A stream that ends is opened again. */
export const useLive = (): Live => {
  const [list, setList] = useState(NO_REQUESTS);
  const [isLive, setIsLive] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      try {
        const headers = { accept: 'text/event-stream' };
        const { body } = await send(LIVE_PATH, { signal: gone.signal, headers });
        setIsLive(true);
        for await (const message of readEvents<LiveMessage>(body ?? new ReadableStream())) {
          setList((before) => withMessage(before, message));
        }
      } catch {
        // The badge shows that the list is not live; without a session the sign-in page opens.
      }
      if (gone.signal.aborted) return;
      setIsLive(false);
      timer = window.setTimeout(() => void read(), AGAIN_MS);
    };
    void read();
    return () => {
      gone.abort();
      window.clearTimeout(timer);
    };
  }, []);
  return { list, isLive };
};
