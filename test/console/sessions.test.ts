import { describe, expect, it } from 'vitest';

import { freshProxies } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** Sessions of the console over HTTP, with the store and without. */

const started = freshProxies();
const OWN = { 'sec-fetch-site': 'same-origin' };

interface Server {
  readonly url: string;
}

const signIn = async ({ url }: Server, key: string): Promise<{ status: number; cookie: string }> => {
  const answer = await fetch(`${url}/console/session`, {
    method: 'POST',
    headers: OWN,
    body: JSON.stringify({ key }),
  });
  return { status: answer.status, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
};

const statusOf = async ({ url }: Server, path: string, cookie: string): Promise<number> =>
  (await fetch(`${url}${path}`, { headers: { ...OWN, cookie } })).status;

describe('a session', () => {
  it.each([{}, { PROXY_STORE: 'off' }])('opens every route of its key, with %j', async (env) => {
    const proxy = await started(hello, env);
    const { status, cookie } = await signIn(proxy, proxy.key);
    expect(status).toBe(200);
    const statuses = ['/v1/models', '/v1/codex/config', '/v1/codex/clients'].map((path) =>
      statusOf(proxy, path, cookie),
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
    const answer = await fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      headers: { ...OWN, cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'codex-5', input: 'hi' }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('Hello from the scripted model.'),
    ]);
  });

  it('of a key with the scope read changes nothing, and ends when the key is revoked', async () => {
    const proxy = await started(hello);
    const made = await proxy.post('/v1/codex/keys', { name: 'viewer', scopes: ['read'] });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const { cookie } = await signIn(proxy, key);
    const who = await fetch(`${proxy.url}/console/session`, { headers: { ...OWN, cookie } });
    expect(await who.json()).toMatchObject({ session: { key_id: id, name: 'viewer', scopes: ['read'] } });
    expect(await statusOf(proxy, '/v1/codex/keys', cookie)).toBe(200);
    const changed = await fetch(`${proxy.url}/v1/codex/keys`, {
      method: 'POST',
      headers: { ...OWN, cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'more' }),
    });
    expect(changed.status).toBe(403);
    await proxy.send(`/v1/codex/keys/${id}`, { method: 'DELETE' });
    expect(await statusOf(proxy, '/v1/codex/keys', cookie)).toBe(401);
  });

  it('is refused if the console is off, and so are its pages', async () => {
    const proxy = await started(hello, { PROXY_CONSOLE: 'off' });
    const paths = ['/console', '/console/settings', '/console/session'];
    const statuses = paths.map((path) => statusOf(proxy, path, ''));
    expect([(await signIn(proxy, proxy.key)).status, ...(await Promise.all(statuses))]).toEqual([
      404, 404, 404, 404,
    ]);
    const front = await fetch(proxy.url, { headers: { accept: 'text/html' } });
    expect(await front.text()).not.toContain('/console');
  });
});

describe('the files of the console', () => {
  it('are sent with a strict policy, and only to safe addresses', async () => {
    const proxy = await started(hello);
    const page = await fetch(`${proxy.url}/console`);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|https?:/);
    const [, script = ''] = /src="([^"]+\.js)"/.exec(html) ?? [];
    const file = await fetch(proxy.url + script);
    expect([file.status, file.headers.get('content-encoding'), file.headers.get('cache-control')]).toEqual([
      200,
      expect.stringMatching(/^(?:br|gzip)$/),
      'public, max-age=31536000, immutable',
    ]);
  });
});
