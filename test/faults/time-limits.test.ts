import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { askStream, askWhole, endOf } from './client.ts';
import { closeForGood, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

const tools = [
  { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
];
const CALL: ScriptStep = { call: { name: 'f', arguments: '{}' } };

const says =
  (...steps: readonly ScriptStep[]): Script =>
  (_, connection) =>
    answer(connection, steps);

/** Ends with keepalives only. */
const keepsAlive = (...steps: readonly ScriptStep[]): Script =>
  says(...steps, ...Array.from({ length: 500 }, () => ALIVE).flat(), { hang: true });
const ALIVE: readonly ScriptStep[] = [
  { wait: 20 },
  { raw: ': alive\n\nevent: keepalive\ndata: {"type":"keepalive"}\n\n' },
];

type Scripts = Readonly<Record<string, Script>>;

/** The error of each, as a stream and as a whole answer. All are requested at once. */
const toldOf = async (proxy: TestProxy, all: Scripts) => {
  proxy.use((request, connection) => {
    const input = JSON.stringify(request.body['input']);
    const [, script] = Object.entries(all).find(([name]) => input.includes(`"${name}"`)) ?? [];
    return script?.(request, connection);
  });
  const told = Object.keys(all).map(async (name) => {
    const ask = { model: 'gpt-5.5', input: name, tools };
    const [{ frames, status }, whole] = await Promise.all([askStream(proxy, ask), askWhole(proxy, ask)]);
    const error = (said: unknown): string => {
      const { code, message } = said as { code: string; message: string };
      return `${code}: ${message.replace(new URL(proxy.model.baseUrl).host, '{host}')}`;
    };
    const streamed = status === 200 ? error(endOf(frames).error) : null;
    return [name, { stream: [status, streamed], whole: [whole.status, error(whole.body['error'])] }];
  });
  return Object.fromEntries(await Promise.all(told)) as Record<string, unknown>;
};
const eachOf = (all: Scripts, told: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.keys(all).map((name) => [name, told]));

const EARLY: Scripts = {
  'no status': (_, connection) => connection.hang(),
  'a status': (_, connection) => {
    connection.open();
    return connection.hang();
  },
  'a connection that is kept alive': keepsAlive(),
};
const LATE: Scripts = {
  text: says({ text: 'Half a', end: 'open' }, { hang: true }),
  'text, kept alive': keepsAlive({ text: 'Half a', end: 'open' }),
  'a call': says(CALL, { hang: true }),
  'a call, kept alive': keepsAlive(CALL),
  'half a call behind a whole one': says(CALL, { ...CALL, end: 'open' }, { hang: true }),
};
/** Without the relay these are invisible while the call is pending: they count as silence. */
const UNHEARD: Scripts = {
  cut: says(CALL, { wait: 20 }, { cut: true }),
  fail: says(CALL, { wait: 20 }, { fail: { code: 'server_error', message: 'No.' } }),
  'stop short': says(CALL, { wait: 20 }, { incomplete: 'max_output_tokens' }),
};

/** Enough for a busy machine to begin 16 answers at once. */
const limitMs = 2_000;

describe.each(['on', 'off'])('an idle backend, with the relay %s', (wire) => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startWatchedProxy(scripts.hello, {
      PROXY_UPSTREAM_IDLE_TIMEOUT_MS: String(limitMs),
      PROXY_WIRE: wire,
    });
  });
  afterEach(() => expectSound(proxy));
  afterAll(() => closeForGood(proxy));

  const who = wire === 'on' ? 'The upstream at {host}' : 'The upstream';
  const silent = `upstream_timeout: ${who} sent nothing for ${limitMs / 1000} s.`;

  it('is a 504 before any output, and an error in the stream afterwards', async () => {
    const late = wire === 'on' ? LATE : { ...LATE, ...UNHEARD };
    expect(await toldOf(proxy, { ...EARLY, ...late })).toEqual({
      ...eachOf(EARLY, { stream: [504, null], whole: [504, silent] }),
      ...eachOf(late, { stream: [200, silent], whole: [504, silent] }),
    });
  });

  it('does not time out while it sends', async () => {
    proxy.use(says({ text: 'Slow, but steady and sure.', delayMs: limitMs / 4 }));
    const { body } = await askWhole(proxy);
    expect(body['status']).toBe('completed');
  });
});

describe('a turn that takes too long', () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startWatchedProxy(scripts.hello, { PROXY_TURN_TIMEOUT_MS: '2000' });
  });
  afterEach(() => expectSound(proxy));
  afterAll(() => closeForGood(proxy));

  it('is ended where it is', async () => {
    const late = 'turn_timeout: The answer took longer than this server allows (PROXY_TURN_TIMEOUT_MS).';
    const all = {
      silent: (_, connection) => connection.hang(),
      'on and on': says({ text: 'on and on '.repeat(500), delayMs: 20 }),
      'a call': says(CALL, { ...CALL, end: 'open' }, { hang: true }),
    } satisfies Scripts;
    const spoken = { stream: [200, late], whole: [504, late] };
    expect(await toldOf(proxy, all)).toEqual({
      silent: { stream: [504, null], whole: [504, late] },
      'on and on': spoken,
      'a call': spoken,
    });
  });
});
