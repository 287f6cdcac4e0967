import { useEffect, useState } from 'preact/hooks';

import { duration } from '../../format/numbers.ts';

/** How long something has run, in whole seconds. `since`: seconds since 1970; without it, since it was first shown. */
export const Elapsed = ({ since }: { readonly since?: number | null }) => {
  const [shownAt] = useState(() => Date.now());
  const [now, setNow] = useState(shownAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const from = since === undefined || since === null ? shownAt : since * 1000;
  // The clocks of the server and of this machine may differ.
  const seconds = Math.max(0, Math.floor((now - from) / 1000));
  return <span class="elapsed">{seconds === 0 ? '0 s' : duration(seconds * 1000)}</span>;
};
