import { useEffect, useState } from 'preact/hooks';

import { dateTime, relative } from '../format/times.ts';

const TICK_MS = 15_000;

/** A time as `3 minutes ago`, with the date and time on hover. Seconds since 1970. */
export const Time = ({ at }: { readonly at: number }) => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={dateTime(at)}>
      {relative(at, now)}
    </time>
  );
};
