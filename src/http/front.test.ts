import { describe, expect, it } from 'vitest';

import { serveRoutes } from '../../test/support/serve-routes.ts';
import { acceptsHtml, frontRoutes, createDocPages, frontPage } from './front.ts';

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

const serve = (): ReturnType<typeof serveRoutes> =>
  serveRoutes(
    frontRoutes({
      front: {
        version: '9.9.9',
        hasConsole: true,
        about: (isLocal) => ({
          backend: isLocal ? 'local backend' : 'a <b>backend</b>',
          key: 'in the file /state/api-key',
          keyInCommand: '$(cat /state/api-key)',
        }),
      },
      docs: createDocPages(),
    }),
  );

describe('GET /', () => {
  it('shows a browser a static page with everything for a first request', async () => {
    const answer = await serve().send('/', BROWSER);
    const page = await answer.text();
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('vary')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'accept, origin',
    ]);
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(page).not.toMatch(/<script|<b>/);
    for (const part of [
      'codex-app-server-proxy 9.9.9',
      'a &lt;b&gt;backend&lt;/b&gt;',
      '<code>http://proxy/v1</code>',
      'in the file /state/api-key',
      'curl http://proxy/v1/responses \\\n  -H &quot;Authorization: Bearer $(cat /state/api-key)&quot;',
    ])
      expect(page).toContain(part);
  });

  it('shows a safely quoted command for any Host header', async () => {
    const facts = { version: '1', backend: 'b', key: 'k', keyInCommand: '$KEY', hasConsole: false };
    const page = frontPage({ ...facts, origin: 'http://$(id)`x`.test:1' });
    expect(page).not.toContain('/console');
    expect(page).toContain('curl &#39;http://$(id)`x`.test:1/v1/responses&#39; \\\n');
  });

  it('links to existing pages', async () => {
    const { send } = serve();
    const page = await (await send('/', BROWSER)).text();
    const [first, ...links] = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '');
    expect(first).toBe('/console');
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) {
      const answer = await send(link);
      expect([link, answer.status, answer.headers.get('content-type')]).toEqual([
        link,
        200,
        'text/plain; charset=utf-8',
      ]);
      expect(await answer.text()).toMatch(/^# /m);
    }
  });

  it('answers other clients with the JSON error', async () => {
    const answer = await serve().send('/', { headers: { accept: '*/*' } });
    expect([answer.status, await answer.json()]).toEqual([
      404,
      {
        error: {
          message: 'Unknown request URL: GET /.',
          type: 'invalid_request_error',
          param: null,
          code: 'unknown_url',
        },
      },
    ]);
  });

  it('answers HEAD with 200 and no body', async () => {
    const answer = await serve().send('/', { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});

describe('GET /docs', () => {
  it.each(['nothing.md', '../package.json', '..%2fpackage.json', 'decisions', 'a/b/c.md', 'x%00.md', '.md'])(
    'has no page %s',
    async (page) => {
      expect((await serve().send(`/docs/${page}`)).status).toBe(404);
    },
  );
});

describe('acceptsHtml', () => {
  it.each([
    ['text/html', true],
    ['application/xml;q=0.9, TEXT/HTML;q=0.1', true],
    ['text/html;q=0', false],
    ['*/*', false],
    ['application/json', false],
    ['text/html-sandbox', false],
    [null, false],
  ])('%j: %j', (accept, expected) => {
    expect(acceptsHtml(accept)).toBe(expected);
  });
});
