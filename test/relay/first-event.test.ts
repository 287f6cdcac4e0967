import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { WHOLE, completed, inTurn, freshRelays, type Answer } from './backend.ts';

const start = freshRelays();

const events = (...list: readonly Record<string, unknown>[]): string =>
  list.map((data) => `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`).join('');
const streams =
  (...texts: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const [text = '', ...rest] = texts;
    response.write(text);
    rest.forEach((one, index) => setTimeout(() => response.write(one), 10 * (index + 1)));
    setTimeout(() => response.end(), 10 * (rest.length + 1));
  };

describe('a stream start without content', () => {
  const created = { type: 'response.created', response: { id: 'resp_1' } };
  const neutral = [
    created,
    { type: 'response.in_progress', response: {} },
    { type: 'response.queued', response: {} },
    { type: 'codex.rate_limits', plan_type: 'plus' },
    { type: 'response.metadata' },
    { type: 'keepalive' },
  ];
  const overloaded = [
    { type: 'response.failed', response: { error: { code: 'server_is_overloaded', message: 'Busy.' } } },
    { type: 'response.failed', response: { error: { code: 'slow_down', message: 'Busy.' } } },
    { type: 'error', code: 'server_is_overloaded', message: 'Busy.' },
    { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } },
    { type: 'error', status: 503, error: { message: 'Busy.' } },
  ];

  it.each(overloaded)('is retried like a 503 if overload follows: %j', async (event) => {
    const busy = streams(`: hello\n\n${events(...neutral)}`, events(event));
    const { backend, open, post, noted } = await start(inTurn(busy, busy, completed));
    const { refused, events: heard } = open('t1');
    const response = await post('t1', { model: 'm' });
    expect([response.status, await response.text()]).toEqual([
      200,
      'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1"}}\n\n',
    ]);
    expect(backend.arrivals).toHaveLength(3);
    expect(noted.retries).toEqual(['overloaded', 'overloaded']);
    expect(refused()).toBeNull();
    expect(heard).toEqual(WHOLE);
  });

  it('is passed on with the overload if that does not end', async () => {
    const text = events(created, overloaded[0] ?? {});
    const { backend, open, post } = await start(streams(text));
    const { refused } = open('t1');
    const response = await post('t1', {});
    expect([response.status, await response.text()]).toEqual([200, text]);
    expect(backend.arrivals).toHaveLength(3);
    expect(refused()).toEqual(failure('upstream_overloaded', { message: 'Busy.' }));
  });

  it.each([
    ['text', { type: 'response.output_text.delta', delta: 'Hi' }],
    ['another failure', { type: 'response.failed', response: { error: { code: 'invalid_prompt' } } }],
    ['its end', { type: 'response.completed', response: {} }],
    ['an event of tomorrow', { type: 'response.novelty' }],
  ])('is passed on byte for byte if %s follows, with or without overload after it', async (_, event) => {
    const texts = [
      `: comment\r\n\r\n${events(...neutral)}`,
      'data: {"type":"response.in_pro',
      `gress"}\n\n${events(event)}`,
      events(overloaded[0] ?? {}),
    ];
    const { backend, openWithTools, post, noted } = await start(streams(...texts));
    openWithTools('t1');
    expect(await (await post('t1', {})).text()).toBe(texts.join(''));
    expect(backend.arrivals).toHaveLength(1);
    expect(noted.retries).toEqual([]);
  });

  it('is passed on if nothing follows, or if it breaks off', async () => {
    const { openWithTools, post } = await start(
      inTurn(streams(events(created)), (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(events(created));
        setTimeout(() => response.destroy(), 20);
      }),
    );
    openWithTools('t1');
    expect(await (await post('t1', {})).text()).toBe(events(created));
    const cut = await post('t1', {});
    expect(cut.status).toBe(200);
    await expect(cut.text()).rejects.toThrow('terminated');
  });

  it('is held back up to a limit', async () => {
    const long = events({ type: 'response.created', response: { instructions: 'x'.repeat(5_000_000) } });
    const busy = events(overloaded[0] ?? {});
    const { backend, open, post } = await start(streams(long, busy));
    open('t1');
    expect((await (await post('t1', {})).text()).length).toBe(long.length + busy.length);
    expect(backend.arrivals).toHaveLength(1);
  });

  it('of other requests is not inspected', async () => {
    const text = events(created, overloaded[0] ?? {});
    const { relay, backend } = await start(streams(text));
    expect(await (await fetch(`${relay.addresses.model}/models`)).text()).toBe(text);
    expect(backend.arrivals).toHaveLength(1);
  });
});
