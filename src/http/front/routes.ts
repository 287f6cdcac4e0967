import type { Exchange } from '../exchange/exchange.ts';
import { route, type Route } from '../route.ts';
import { unknownUrl } from '../answer/unknown-url.ts';
import { acceptsHtml } from './accepts-html.ts';
import type { DocPages } from './doc-pages.ts';
import { frontPage, PAGE_HEADERS, type PageFacts } from './page.ts';

/** What the page shows about this server. */
export interface FrontFacts extends Pick<PageFacts, 'version' | 'hasConsole'> {
  /** Paths and addresses are shown only on this machine. */
  readonly about: (isLocal: boolean) => Pick<PageFacts, 'backend' | 'key' | 'keyInCommand'>;
}

export interface FrontDeps {
  readonly front: FrontFacts;
  readonly docs: DocPages;
}

/** Pages for people in a browser. Both routes need no key and show no secret. */
export const frontRoutes = ({ front, docs }: FrontDeps): readonly Route[] => [
  route('GET /', { access: 'open' }, (http, exchange) => root(http, exchange, front)),
  route('GET /docs/:page{.+}', { access: 'open' }, async (http, _exchange, params) => {
    const text = await docs.read(params['page'] ?? '');
    if (text === null) throw unknownUrl(http.method, new URL(http.url).pathname);
    return new Response(text, { headers: DOC_HEADERS });
  }),
];

/** Markdown is shown as text: browsers would offer `text/markdown` as a download. */
const DOC_HEADERS = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

/** Some clients send HEAD to check that the server is up. */
const root = (http: Request, exchange: Exchange, front: FrontFacts): Response => {
  const isPage = acceptsHtml(http.headers.get('accept'));
  if (!isPage && http.method !== 'HEAD') throw unknownUrl(http.method, '/');
  const { origin } = new URL(http.url);
  const page = frontPage({ ...front, origin, ...front.about(exchange.isLocal()) });
  return new Response(page, { headers: { ...PAGE_HEADERS, vary: 'accept' } });
};
