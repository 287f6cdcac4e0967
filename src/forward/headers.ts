import type { IncomingHttpHeaders } from 'node:http';

import { endToEnd } from '../codex/end-to-end-headers.ts';

/** The headers that describe a request. Others are for this server: the caller's key, cookies, its organization. */
const TO_PROVIDER =
  /^(?:accept|accept-language|content-(?:type|length|encoding|language)|user-agent|idempotency-key|openai-beta|traceparent|tracestate|x-client-request-id|x-stainless-.*)$/;

/** The headers that describe an answer. Others could act on browsers and proxies in the name of this server. */
const TO_CLIENT =
  /^(?:content-(?:type|length|encoding|language|disposition)|cache-control|retry-after(?:-ms)?|x-should-retry|(?:x-)?ratelimit-.*|openai-.*)$/;

/** The headers of a request for a provider, with the provider's key. */
export const toProvider = (headers: IncomingHttpHeaders, apiKey: string | null): Record<string, string> => ({
  ...passed(headers, TO_PROVIDER),
  // Errors are read here, to remove the key.
  'accept-encoding': 'identity',
  ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
});

/** The headers of an answer for the client. `hide` removes secrets. */
export const toClient = (
  headers: IncomingHttpHeaders,
  hide: (text: string) => string,
): Record<string, string> => {
  const requestId = headers['x-request-id'];
  const all = {
    ...passed(headers, TO_CLIENT),
    // This server has an id of its own.
    ...(requestId === undefined ? {} : { 'x-upstream-request-id': String(requestId) }),
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, hide(value)]));
};

const passed = (headers: IncomingHttpHeaders, names: RegExp): Record<string, string> =>
  Object.fromEntries(
    Object.entries(endToEnd(headers))
      .filter(([name]) => names.test(name))
      .map(([name, value]) => [name, String(value)]),
  );
