import { describe, expect, it } from 'vitest';

import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import { failure } from '../../src/canonical/failure/failure.ts';
import { NO_SAMPLING } from '../support/turn-request.ts';
import { WHOLE, completed, inTurn, freshRelays, status, type Answer } from './backend.ts';

const start = freshRelays();

const hostOf = (url: string): string => new URL(url).host;
const reset: Answer = (response) => void response.destroy();
/** A status, then the end: the first byte of the body never arrives. */
const resetBehindHead: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  setTimeout(() => response.destroy(), 20);
};

describe('a failure before the first byte', () => {
  it.each([
    ['a reset', reset],
    ['a reset behind the head', resetBehindHead],
    ['500', status(500, { error: { message: 'broken' } })],
    ['502', status(502, '<html>bad gateway</html>')],
    ['503', status(503)],
    ['503 with a short wish', status(503, {}, { 'retry-after': '0' })],
    ['529', status(529)],
  ])('is retried twice, invisibly: %s', async (_, answer) => {
    const { backend, open, post, noted } = await start(inTurn(answer, answer, completed));
    const { refused, events } = open('t1');
    const response = await post('t1', { model: 'm' });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('response.completed');
    expect(backend.arrivals).toHaveLength(3);
    expect(new Set(backend.arrivals.map(({ body }) => body.toString())).size).toBe(1);
    expect(noted.retries).toHaveLength(2);
    expect(refused()).toBeNull();
    expect(events).toEqual(WHOLE);
  });

  it('is given up after that', async () => {
    const { relay, backend, open, post } = await start(reset);
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(502);
    expect(backend.arrivals).toHaveLength(3);
    expect(refused()).toEqual(
      failure('upstream_unreachable', {
        message: `The upstream at ${hostOf(backend.url)} could not be reached: the connection was closed (UND_ERR_SOCKET).`,
      }),
    );
    // codex itself retries its other requests.
    expect((await fetch(`${relay.addresses.model}/models`)).status).toBe(502);
    expect(backend.arrivals).toHaveLength(4);
  });

  it('is an error of the backend if it was one to the end', async () => {
    const text = JSON.stringify({ error: { message: 'broken at /srv/app/main.py' } });
    const { backend, open, post } = await start(status(503, text, { 'x-request-id': 'req_9' }));
    const { refused } = open('t1');
    const response = await post('t1', {});
    expect([response.status, await response.text()]).toEqual([503, text]);
    expect(backend.arrivals).toHaveLength(3);
    expect(refused()).toEqual({
      ...failure('upstream_overloaded'),
      headers: { 'x-upstream-request-id': 'req_9' },
    });
  });
});

describe('the retry budget of the answer', () => {
  const spent = (): ModelBudget => {
    const budget = new ModelBudget(64);
    while (budget.retry('worker lost'));
    return budget;
  };

  it('counts each retry', async () => {
    const { backend, open, post } = await start(status(503));
    const budget = new ModelBudget(64);
    open('t1', {}, true, { budget });
    await post('t1', {});
    expect([backend.arrivals.length, budget.used, budget.retries]).toEqual([3, 3, 2]);
  });

  it.each([
    ['a reset', reset],
    ['503', status(503)],
    [
      'a rejected field',
      status(400, { error: { message: 'Unsupported parameter: temperature', param: 'temperature' } }),
    ],
  ])('allows none when it is spent: %s', async (_, answer) => {
    const { backend, open, post } = await start(answer);
    open('t1', { sampling: { ...NO_SAMPLING, temperature: 0.5 } }, true, { budget: spent() });
    await post('t1', { model: 'm' });
    expect(backend.arrivals).toHaveLength(1);
  });
});

describe('failures that are not retried', () => {
  it('include a refused connection', async () => {
    const dead = await start(completed);
    await dead.backend.close();
    const { refused } = dead.open('t1');
    expect((await dead.post('t1', {})).status).toBe(502);
    expect(dead.noted.retries).toEqual([]);
    expect(refused()).toEqual(
      failure('upstream_unreachable', {
        message: `The upstream at ${hostOf(dead.backend.url)} could not be reached: the connection was refused (ECONNREFUSED).`,
      }),
    );
  });

  it('include an unknown host, in a URL with a key', async () => {
    const { open, post, noted } = await start(completed, {
      targets: {
        model: 'http://user:s3cret@nowhere.invalid/k3y',
        account: null,
        refresh: null,
        revoke: null,
        authApi: null,
      },
    });
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(502);
    expect(noted.retries.filter((reason) => reason !== 'EAI_AGAIN')).toEqual([]);
    expect(refused()?.message).toMatch(
      /^The upstream at nowhere\.invalid could not be reached: its host name .* \(E[A-Z_]+\)\.$/,
    );
  });

  it.each([400, 401, 403, 404, 409, 413, 429, 501])('include status %i', async (code) => {
    const { backend, open, post, noted } = await start(status(code, { error: { message: 'm' } }));
    open('t1');
    expect((await post('t1', {})).status).toBe(code);
    expect(backend.arrivals).toHaveLength(1);
    expect(noted.retries).toEqual([]);
  });

  it('include a backend that asks for a pause', async () => {
    const { backend, open, post } = await start(status(503, {}, { 'retry-after': '30' }));
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(503);
    expect(backend.arrivals).toHaveLength(1);
    expect(refused()?.retryAfterSeconds).toBe(30);
  });

  it('include an answer that broke off after its first byte', async () => {
    const { backend, openWithTools, post, noted } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: response.output_text.delta\ndata: {"delta":"once"}\n\n');
      setTimeout(() => response.destroy(), 20);
    });
    openWithTools('t1');
    const response = await post('t1', {});
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    expect(backend.arrivals).toHaveLength(1);
    expect(noted.retries).toEqual([]);
  });
});

describe('an error whose body does not end', () => {
  it('is still an error when it is cut off', async () => {
    const { open, post } = await start((response) => {
      response.writeHead(429, {
        'content-type': 'application/json',
        'content-length': '1000',
        'retry-after': '4',
      });
      response.write('{"error":');
      setTimeout(() => response.destroy(), 20);
    });
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(429);
    expect(refused()).toEqual(failure('rate_limit_exceeded', { retryAfterSeconds: 4 }));
  });

  it('is read up to a limit', async () => {
    const { backend, open, post } = await start((response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const { refused } = open('t1');
    const response = await post('t1', {});
    expect(response.status).toBe(400);
    expect((await response.arrayBuffer()).byteLength).toBeLessThan(1_000_000);
    expect(refused()).toEqual(failure('invalid_prompt'));
    await expect.poll(() => backend.arrivals[0]?.aborted).toBe(true);
  });
});

describe('a second request of the same turn', () => {
  it('is not blamed for the first', async () => {
    const { backend, open, post } = await start(
      inTurn(status(401, { error: { message: 'expired' } }), (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {}\n\n');
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(401);
    expect(refused()).toEqual(failure('upstream_unauthorized'));
    const response = await post('t1', {});
    await expect(response.text()).rejects.toThrow('terminated');
    const message = `The upstream at ${new URL(backend.url).host} ended its answer without response.completed and sent 1 event that could not be read.`;
    expect(refused()).toEqual(failure('upstream_error', { message }));
  });
});
