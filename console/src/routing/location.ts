import { useEffect, useState } from 'preact/hooks';

/** Where the console lives on its server. */
const BASE = '/console';

/** An address below `/console`, such as `/requests/req_1`, with the query after it. */
export interface Location {
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): Location => {
  const { pathname, search } = window.location;
  const path = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname;
  return { path: path.replace(/\/+$/, '') || '/', query: new URLSearchParams(search) };
};

/** The address in the browser for a path of the console. */
export const hrefOf = (path: string): string => `${BASE}${path === '/' ? '' : path}`;

const CHANGED = 'console-location';

/** Opens a page of the console. `replace` leaves no entry in the history: for filters and tabs. */
export const navigate = (path: string, how: 'push' | 'replace' = 'push'): void => {
  const href = hrefOf(path);
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  window.dispatchEvent(new Event(CHANGED));
};

export const useLocation = (): Location => {
  const [location, setLocation] = useState(read);
  useEffect(() => {
    const changed = (): void => setLocation(read());
    window.addEventListener('popstate', changed);
    window.addEventListener(CHANGED, changed);
    return () => {
      window.removeEventListener('popstate', changed);
      window.removeEventListener(CHANGED, changed);
    };
  }, []);
  return location;
};
