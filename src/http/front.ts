import { readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';

import type { Exchange } from './exchange/exchange.ts';
import { route, type Route } from './route.ts';
import { unknownUrl } from './answer/error-response.ts';
import { shellQuoted } from '../kit/text/display.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for an HTML element or quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

/** How to reach the model through this server. */
export interface AboutServer {
  /** Describes the active backend. */
  readonly backend: string;
  /** Says where to find the key. */
  readonly key: string;
  /** The key as written on a command line. */
  readonly keyInCommand: string;
}

interface PageHead {
  readonly version: string;
  /** Whether the console is served. */
  readonly hasConsole: boolean;
}

interface PageFacts extends AboutServer, PageHead {
  /** Such as `http://127.0.0.1:11435`. */
  readonly origin: string;
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; }
dt { font-weight: 600; margin-top: .6rem; }
dd { margin: 0; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
pre { padding: 1rem; border: 1px solid; border-radius: .4rem; overflow-x: auto; }
`;

/** Only this style may load or run, and no other page may frame it. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const DOCS: readonly (readonly [string, string])[] = [
  ['clients/README.md', 'Set up a client'],
  ['http-api.md', 'Endpoints'],
  ['parameters.md', 'Parameters'],
  ['configuration.md', 'Settings'],
  ['errors.md', 'Errors'],
  ['operating.md', 'Operating'],
  ['security.md', 'Security'],
];

/** The page for people who open the server in a browser. It has no script. */
export const frontPage = (facts: PageFacts): string => {
  const { version, backend, key, origin, keyInCommand, hasConsole } = facts;
  const curl = [
    // Contains the caller's Host header, and is meant to be copied.
    `curl ${shellQuoted(`${origin}/v1/responses`, 'any Unix')} \\`,
    `  -H "Authorization: Bearer ${keyInCommand}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"model":"codex-5","input":"Say hello."}'`,
  ].join('\n');
  const links = DOCS.map(([file, title]) => `<li><a href="/docs/${file}">${title}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>codex-app-server-proxy</title>
<style>${STYLE}</style>
</head>
<body>
<h1>codex-app-server-proxy ${escapeHtml(version)}</h1>
<p>This server speaks OpenAI's API and answers with the Codex app-server. Point any OpenAI client at it.</p>
<dl>
<dt>Backend</dt><dd>${escapeHtml(backend)}</dd>
<dt>Base URL</dt><dd><code>${escapeHtml(origin)}/v1</code></dd>
<dt>API key</dt><dd>${escapeHtml(key)}</dd>
</dl>
${hasConsole ? '<p><a href="/console">Open the console</a>: requests, usage, keys, and how to connect clients.</p>' : ''}
<h2>First request</h2>
<pre><code>${escapeHtml(curl)}</code></pre>
<h2>Documentation</h2>
<ul>
${links.join('\n')}
</ul>
</body>
</html>
`;
};

/** The documentation in this package. */
interface DocPages {
  /** The text of a page such as `clients/codex.md`; null if there is none. */
  read(page: string): Promise<string | null>;
}

/** Only files and folders in `docs`. */
const PAGE = /^(?:[a-z0-9-]+\/)?[A-Za-z0-9-]+\.md$/;

export const createDocPages = (root = new URL('../../docs/', import.meta.url)): DocPages => ({
  async read(page) {
    if (!PAGE.test(page)) return null;
    return readFile(new URL(page, root), 'utf8').catch(() => null);
  },
});

/** Whether a browser opens a page. Browsers accept `text/html`; API clients ask for JSON or for anything. */
export const acceptsHtml = (accept: string | null): boolean =>
  (accept ?? '')
    .split(',')
    .some((range) => /^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(range));

/** What the page shows about this server. */
interface FrontFacts extends PageHead {
  /** Paths and addresses are shown only on this machine. */
  readonly about: (isLocal: boolean) => AboutServer;
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
