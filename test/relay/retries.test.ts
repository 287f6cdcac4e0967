import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure.ts';
import { WHOLE, completed, inTurn, parsed, freshRelays, status, type Answer } from './backend.ts';

const start = freshRelays();

const hostOf = (url: string): string => new URL(url).host;
const reset: Answer = (response) => void response.destroy();
/** A status, and then the end: the first byte of the answer never comes. */
const resetBehindHead: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  setTimeout(() => response.destroy(), 20);
};

describe('what comes to nothing before its first byte', () => {
  it.each([
    ['a reset', reset],
    ['a reset behind the head', resetBehindHead],
    ['500', status(500, { error: { message: 'broken' } })],
    ['502', status(502, '<html>bad gateway</html>')],
    ['503', status(503)],
    ['503 with a short wish', status(503, {}, { 'retry-after': '0' })],
    ['529', status(529)],
  ])('is tried again twice, and nobody sees it: %s', async (_, answer) => {
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
    const { backend, open, post } = await start(reset);
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(502);
    expect(backend.arrivals).toHaveLength(3);
    expect(refused()).toEqual(
      failure('upstream_unreachable', {
        message: `The upstream at ${hostOf(backend.url)} could not be reached: the connection was closed (UND_ERR_SOCKET).`,
      }),
    );
    const unplaced = await post(null, {});
    expect(unplaced.status).toBe(502);
  });

  it('is an error of the backend when it was one to the end', async () => {
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

describe('what is not tried again', () => {
  it('a refused connection', async () => {
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

  it('a host that is not known, in an address with a key', async () => {
    const { open, post, noted } = await start(completed, {
      targets: {
        model: 'http://user:s3cret@nowhere.invalid/k3y',
        account: null,
        refresh: null,
        revoke: null,
      },
    });
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(502);
    expect(noted.retries.filter((reason) => reason !== 'EAI_AGAIN')).toEqual([]);
    expect(refused()?.message).toMatch(
      /^The upstream at nowhere\.invalid could not be reached: its name .* \(E[A-Z_]+\)\.$/,
    );
  });

  it.each([400, 401, 403, 404, 409, 413, 429, 501])('status %i', async (code) => {
    const { backend, open, post, noted } = await start(status(code, { error: { message: 'm' } }));
    open('t1');
    expect((await post('t1', {})).status).toBe(code);
    expect(backend.arrivals).toHaveLength(1);
    expect(noted.retries).toEqual([]);
  });

  it('a backend that wants to be left alone for a while', async () => {
    const { backend, open, post } = await start(status(503, {}, { 'retry-after': '30' }));
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(503);
    expect(backend.arrivals).toHaveLength(1);
    expect(refused()?.retryAfterSeconds).toBe(30);
  });

  it('an answer that broke off after its first byte', async () => {
    const { backend, open, post, noted } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: response.output_text.delta\ndata: {"delta":"once"}\n\n');
      setTimeout(() => response.destroy(), 20);
    });
    open('t1');
    const response = await post('t1', {});
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    expect(backend.arrivals).toHaveLength(1);
    expect(noted.retries).toEqual([]);
  });
});

describe('an error whose body does not come to an end', () => {
  it('is an error all the same when it is cut off', async () => {
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

  it('is read only so far when it is endless', async () => {
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

describe('a backend that refuses parameters', () => {
  const params = {
    wire: [
      { field: 'temperature', value: 0.5, name: 'temperature', matters: true },
      { field: 'top_p', value: 0.5, name: 'top_p', matters: true },
      { field: 'user', value: 'u', name: 'user', matters: false },
    ],
    maxOutputTokens: 20,
  } as const;
  /** Refuses one after the other, as long as it finds one. */
  const refuses =
    (say: (name: string) => unknown, ...names: readonly string[]): Answer =>
    (response, arrival, nth) => {
      const found = names.find((name) => Object.hasOwn(parsed(arrival), name));
      return found === undefined
        ? completed(response, arrival, nth)
        : status(400, say(found))(response, arrival, nth);
    };
  const inOpenAIsWords = (name: string): unknown => ({
    error: {
      message: `Unsupported parameter: '${name}' is not supported with this model.`,
      type: 'invalid_request_error',
      param: name,
      code: 'unsupported_parameter',
    },
  });

  it.each([
    ['OpenAI', inOpenAIsWords],
    ['ChatGPT', (name: string) => ({ detail: `Unsupported parameter: ${name}` })],
    ['someone', (name: string) => ({ error: { message: `property '${name}' is unsupported` } })],
    [
      'pydantic',
      (name: string) => ({
        detail: [{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }],
      }),
    ],
  ])('is asked again without them, and remembered: in the words of %s', async (_, say) => {
    const { backend, open, post, noted } = await start(
      refuses(say, 'temperature', 'user', 'max_output_tokens'),
    );
    const first = open('t1', params);
    expect((await post('t1', { model: 'm' })).status).toBe(200);
    expect(backend.arrivals.map((arrival) => Object.keys(parsed(arrival)).toSorted())).toEqual([
      ['max_output_tokens', 'model', 'prompt_cache_key', 'temperature', 'top_p', 'user'],
      ['max_output_tokens', 'model', 'prompt_cache_key', 'top_p', 'user'],
      ['max_output_tokens', 'model', 'prompt_cache_key', 'top_p'],
      ['model', 'prompt_cache_key', 'top_p'],
    ]);
    expect(noted).toEqual({
      retries: [],
      learnt: ['gpt-5.5 temperature', 'gpt-5.5 user', 'gpt-5.5 max_output_tokens'],
      bugs: [],
      unplaced: 0,
      blocked: 0,
      served: 4,
      renewalsHeld: 0,
    });
    const learnt = { ignored: ['temperature'], limitsOutput: false };
    expect(first.ticket.report).toMatchObject(learnt);
    const second = open('t2', params);
    expect(second.ticket.report).toMatchObject(learnt);
    expect((await post('t2', { model: 'm' })).status).toBe(200);
    expect(backend.arrivals).toHaveLength(5);
    // Another model of it may be of another mind.
    expect(open('t3', { ...params, model: 'gpt-6' }).ticket.report).toMatchObject({
      ignored: [],
      limitsOutput: true,
    });
  });

  it('is believed only if it answers without them', async () => {
    const { open, post, noted } = await start(status(400, { error: { message: 'Unknown user.' } }));
    const { refused } = open('t1', params);
    expect((await post('t1', {})).status).toBe(400);
    expect(noted.learnt).toEqual([]);
    expect(refused()).toEqual(failure('invalid_prompt', { message: 'Unknown user.' }));
    expect(open('t2', params).ticket.report.ignored).toEqual([]);
  });

  it('is not misunderstood when it is the client who is wrong', async () => {
    const wrong = [
      {
        error: {
          message: "Invalid schema for function 'f'.",
          param: 'tools[0].parameters',
          code: 'invalid_function_parameters',
        },
      },
      {
        error: {
          message: "Unknown parameter: 'tools[0].strict'.",
          param: 'tools[0].strict',
          code: 'unknown_parameter',
        },
      },
      {
        error: {
          message: "Invalid 'temperature': decimal above maximum value.",
          param: 'temperature',
          code: 'decimal_above_max_value',
        },
      },
    ];
    let nth = 0;
    const { backend, open, post } = await start((response, arrival) =>
      status(400, wrong[nth])(response, arrival, nth),
    );
    const tools = [{ name: 'f', description: null, parameters: { type: 'object' }, strict: true }];
    for (const { error } of wrong) {
      const { refused } = open(`t${nth}`, { ...params, tools });
      expect((await post(`t${nth}`, {})).status).toBe(400);
      expect(refused()).toEqual(failure('invalid_prompt', error));
      nth += 1;
    }
    expect(backend.arrivals).toHaveLength(wrong.length);
  });

  it('that refuses everything is not asked for ever', async () => {
    const { backend, open, post } = await start((response, arrival, nth) => {
      const name = Object.keys(parsed(arrival)).find((one) => one !== 'model') ?? 'temperature';
      return status(400, inOpenAIsWords(name))(response, arrival, nth);
    });
    open('t1', { ...params, serviceTier: 'flex', parallelToolCalls: false });
    expect((await post('t1', { model: 'm' })).status).toBe(400);
    expect(backend.arrivals.length).toBeLessThanOrEqual(9);
  });

  it('loses what codex itself sends, if it is that', async () => {
    const { backend, open, post } = await start(refuses(inOpenAIsWords, 'service_tier', 'prompt_cache_key'));
    const { ticket } = open('t1', { serviceTier: 'flex' });
    expect((await post('t1', { service_tier: 'flex', prompt_cache_key: 't1', x: 1 })).status).toBe(200);
    expect(parsed(backend.arrivals.at(-1))).toEqual({ x: 1 });
    expect(ticket.report.ignored).toEqual(['service_tier']);
    const again = open('t2', { serviceTier: 'flex' });
    expect((await post('t2', { service_tier: 'flex', prompt_cache_key: 't2', x: 1 })).status).toBe(200);
    expect(parsed(backend.arrivals.at(-1))).toEqual({ x: 1 });
    expect(again.ticket.report.ignored).toEqual(['service_tier']);
    // The key is known to be refused by now; a tier is asked for again, since another one may be taken.
    expect(backend.arrivals).toHaveLength(5);
  });
});

describe('a second request of the same turn', () => {
  it('is not blamed for the first', async () => {
    const { open, post } = await start(
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
    expect(refused()).toBeNull();
  });
});
