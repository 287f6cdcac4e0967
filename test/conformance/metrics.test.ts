import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

// A pre-started turn is a call of the app-server, too.
const proxy = await openProxy(hello, { PROXY_PRESTART: '0' });
const ASK = { model: 'gpt-5.5', input: 'Hello' };

describe('metrics', () => {
  it('are open to programs on this machine and to callers with the key', async () => {
    const elsewhere = { 'x-forwarded-for': '192.0.2.1' };
    const headers = { ...elsewhere, authorization: `Bearer ${proxy.key}` };
    const answers = await Promise.all([
      fetch(`${proxy.url}/metrics`),
      fetch(`${proxy.url}/metrics`, { headers: elsewhere }),
      fetch(`${proxy.url}/metrics`, { headers }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200]);
    expect(answers[0]?.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  it('count app-server calls, stream events, and unread notifications', async () => {
    proxy.use(hello);
    const read = async (name: string): Promise<number> => {
      const lines = (await (await fetch(`${proxy.url}/metrics`)).text()).split('\n');
      return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? 0);
    };
    const names = [
      'proxy_rpc_seconds_count{rpc_method="turn/start"}',
      'proxy_response_events_total{response_event_type="response.output_text.delta"}',
      'proxy_response_events_total{response_event_type="response.completed"}',
      'proxy_parse_failures_total{of="request_body"}',
      'proxy_ignored_params_total{param="other"}',
    ];
    const before = await Promise.all(names.map(read));
    await (await proxy.post('/v1/responses', { ...ASK, stream: true, frobnicate: 1 })).text();
    await proxy.post('/v1/responses', ASK, { body: 'no JSON' });
    await expect.poll(() => read(names[2] ?? '')).toBe((before[2] ?? 0) + 1);
    const grown = (await Promise.all(names.map(read))).map((value, at) => value - (before[at] ?? 0));
    expect(grown).toEqual([1, 5, 1, 1, 1]);
  });
});
