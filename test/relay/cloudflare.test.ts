import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { CookieJar } from '../../src/codex/relay/transport/cookies.ts';
import { completed, inTurn, freshRelays, status, type Answer } from './backend.ts';

const start = freshRelays();

describe('a Cloudflare page', () => {
  const page =
    '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body></body></html>';
  const blocked = status(403, page, { 'content-type': 'text/html', 'cf-mitigated': 'challenge' });

  it.each([403, 429, 503])('is counted and not retried: %i', async (code) => {
    const html = { 'content-type': 'text/html', 'cf-mitigated': 'challenge', 'cf-ray': '8aa' };
    const { backend, open, post, noted } = await start(inTurn(status(code, page, html), completed));
    const { refused } = open('t1');
    const response = await post('t1', {});
    expect([response.status, await response.text()]).toEqual([code, page]);
    expect(backend.arrivals).toHaveLength(1);
    expect(refused()).toEqual(failure('upstream_blocked'));
    expect(noted).toMatchObject({ blocked: 1, served: 0 });
    expect((await post('t1', {})).status).toBe(200);
    expect(noted).toMatchObject({ blocked: 1, served: 1 });
  });

  it('counts for any model request, and not for others', async () => {
    const { relay, open, post, noted } = await start(blocked);
    open('t1');
    expect((await post('t1', {})).status).toBe(403);
    expect((await fetch(`${relay.addresses.model}/models`)).status).toBe(403);
    expect(noted).toMatchObject({ blocked: 1, served: 0 });
  });

  it('is not an error of the backend, whose answers show that it is reachable', async () => {
    const { open, post, noted } = await start(status(400, { error: { message: 'No.' } }));
    open('t1');
    await post('t1', {});
    expect(noted).toMatchObject({ blocked: 0, served: 1 });
  });
});

describe('cookies', () => {
  const setting: Answer = (response) => {
    response.writeHead(403, { 'set-cookie': ['__cf_bm=one; Path=/; HttpOnly', '_cfuvid=two; Secure'] });
    response.end();
  };

  it('of the host are kept, sent back, and hidden from the app-server', async () => {
    const { backend, open, post } = await start(inTurn(setting, completed), (url) => ({
      cookies: new CookieJar(url, systemAmbient.clock),
    }));
    open('t1');
    const first = await post('t1', {});
    expect([first.status, first.headers.getSetCookie()]).toEqual([403, []]);
    await post('t1', {});
    await post('t1', {}, { headers: { cookie: 'own=1' } });
    expect(backend.arrivals.map(({ headers }) => headers.cookie)).toEqual([
      undefined,
      '__cf_bm=one; _cfuvid=two',
      'own=1; __cf_bm=one; _cfuvid=two',
    ]);
  });

  it('of another host are left alone', async () => {
    const cookies = new CookieJar('https://chatgpt.com', systemAmbient.clock);
    const { backend, open, post } = await start(setting, { cookies });
    open('t1');
    expect((await post('t1', {})).headers.getSetCookie()).toHaveLength(2);
    await post('t1', {});
    expect(backend.arrivals.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined]);
  });
});
