/** Which web pages may call this server and read its answers. */
export interface Cors {
  isAllowed(origin: string | null): boolean;
  /** The answer to a preflight request; null if the request is not one. */
  preflight(http: Request): Response | null;
  /** Lets the page read the answer if its origin is allowed. Every answer passes here. */
  share(response: Response, origin: string | null): Response;
}

/** All of them, so that a page can also read why a method is rejected. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Browsers cache only the preflight: the origin is checked for every answer. */
const MAX_AGE_SECONDS = 600;
/** Limit for the header names that a page wants to send; more than any client has. */
const MAX_REQUESTED_CHARS = 4_096;
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;
/** Response headers that a page cannot read unless they are exposed. */
const EXPOSED = /^(?:x-|openai-|mcp-|retry-after|request-id$)/;
/** Exposed in every answer, even if absent, so that any answer shows what a page may read. */
const ALWAYS_EXPOSED = [
  'retry-after',
  'x-proxy-ignored-params',
  'x-proxy-output-mode',
  'x-proxy-served-model',
  'x-request-id',
];
const ASKED_ABOUT =
  'access-control-request-method, access-control-request-headers, access-control-request-private-network';

/** Any header may be sent, and credentials are never allowed: the API key protects this server, not the browser. */
export const createCors = (origins: readonly string[]): Cors => {
  const known = new Set(origins);
  const isAllowed = (origin: string | null): boolean => {
    if (origin === null) return false;
    if (known.has('*')) return true;
    const asked = origin.toLowerCase();
    return known.has(asked) || known.has(`${asked.replace(/:\d{1,5}$/, '')}:*`);
  };
  return {
    isAllowed,
    preflight({ method, headers }) {
      const isPreflight =
        method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method');
      if (!isPreflight) return null;
      const response = new Response(null, { status: 204, headers: { vary: ASKED_ABOUT } });
      if (isAllowed(headers.get('origin'))) allow(response.headers, headers);
      return response;
    },
    share(response, origin) {
      const { headers } = response;
      headers.append('vary', 'origin');
      if (origin === null || !isAllowed(origin)) return response;
      headers.set('access-control-allow-origin', origin);
      const told = [...headers.keys()].filter((name) => EXPOSED.test(name));
      const named = [...new Set([...ALWAYS_EXPOSED, ...told])].toSorted();
      headers.set('access-control-expose-headers', named.join(', '));
      return response;
    },
  };
};

const allow = (headers: Headers, asked: Headers): void => {
  headers.set('access-control-allow-methods', METHODS);
  headers.set('access-control-max-age', String(MAX_AGE_SECONDS));
  const wanted = asked.get('access-control-request-headers') ?? '';
  // A wildcard would not cover `authorization`.
  if (wanted.length <= MAX_REQUESTED_CHARS && HEADER_NAMES.test(wanted)) {
    headers.set('access-control-allow-headers', wanted);
  }
  if (asked.get('access-control-request-private-network') === 'true') {
    headers.set('access-control-allow-private-network', 'true');
  }
};
