import { createHash } from 'node:crypto';

import { shellQuoted } from '../../kit/text/display.ts';
import { escapeHtml } from './escape-html.ts';

export interface PageFacts {
  readonly version: string;
  /** Describes the active backend. */
  readonly backend: string;
  /** Says where to find the key. */
  readonly key: string;
  /** Such as `http://127.0.0.1:11435`. */
  readonly origin: string;
  /** Whether the console is served. */
  readonly hasConsole: boolean;
  /** The key as written on a command line. */
  readonly keyInCommand: string;
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
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
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
