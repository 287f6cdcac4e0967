import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import type { Outcome } from '../../src/canonical/events/turn-event.ts';
import type { TurnContext } from '../../src/canonical/context/turn-context.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { findCodexBinary } from '../../src/codex/binary.ts';
import { directLogin, type BackendTarget } from '../../src/codex/home/backend.ts';
import { detectLogin } from '../../src/codex/login/login.ts';
import { prepareHomes } from '../../src/codex/home/prepare-home.ts';
import { startModelServer, type ModelServer, type Script } from '../../src/demo/model-server.ts';
import { atOnce } from '../../src/kit/async/event-loop.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { cleaner } from '../../src/features/captures/redacted.ts';
import { engineOn } from '../support/engine.ts';
import { placeLogged } from '../support/placed-relay.ts';
import { startRealPool } from '../support/real-pool.ts';
import { recordingTrace } from '../support/recording-trace.ts';
import { startProxy } from '../support/proxy.ts';
import { hello, http400, http500 } from '../support/scripts.ts';
import { turnContext, turnRequest } from '../support/turn-request.ts';
import { fails } from './answered.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const API_KEY_LOGIN = { OPENAI_API_KEY: 'sk-made-up-key-0123456789' };

interface Signed {
  readonly model: ModelServer;
  readonly log: readonly string[];
  readonly relayUrl: string;
  run(
    request: Partial<TurnRequest>,
    context?: Partial<TurnContext>,
  ): Promise<{ outcome: Outcome; text: string }>;
}

/** The real app-server, signed in with a made-up key, with a relay to a scripted backend. */
const signIn = async (script: Script): Promise<Signed> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'login-test-'));
  closers.push(() => rm(directory, { recursive: true, force: true }));
  await writeFile(path.join(directory, 'auth.json'), JSON.stringify(API_KEY_LOGIN));
  const environment = { PATH: process.env['PATH'], CODEX_HOME: directory };
  const stateDir = path.join(directory, 'state');
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
  expect(await detectLogin(homes)).toBe('api-key');
  const model = await startModelServer({ script, keepRequests: 10 });
  closers.push(() => model.close());
  const login: BackendTarget = { ...directLogin('api-key'), baseUrl: model.baseUrl };
  const placed = await placeLogged(login, 'trace', { environment });
  closers.push(() => placed.close());
  const { relay, backend, log, logger } = placed;
  if (relay === null) throw new Error('there must be a relay');
  const workers = await startRealPool(homes, backend, {
    worker: { onStderr: (line) => logger.debug({ line }, 'app-server stderr') },
    pool: { onEvent: (event) => logger.info(event, event.kind) },
  });
  closers.push(() => workers.drain(1_000));
  const engine = engineOn(workers, {
    relay,
    ambient: systemAmbient,
    workdir: directory,
    onAnomaly: (anomaly) => logger.warn({ anomaly }, 'odd'),
  });
  return {
    model,
    log,
    relayUrl: relay.addresses.model,
    async run(request, context) {
      let outcome: Outcome | null = null;
      let text = '';
      for await (const event of engine
        .plan(turnRequest(request), turnContext(context))
        .run(new AbortController().signal)) {
        if (event.type === 'item-delta') text += event.delta;
        if (event.type === 'turn-ended') ({ outcome } = event);
      }
      if (outcome === null) throw new Error('the turn did not end');
      return { outcome, text };
    },
  };
};

const expectNoSecrets = (said: string, relayUrl: string): void => {
  const secrets = ['sk-made-up-key', new URL(relayUrl).pathname];
  expect(secrets.filter((secret) => said.includes(secret))).toEqual([]);
};

describe('the credentials of an API key login', () => {
  it('reach the backend and nothing else', async () => {
    const { model, log, relayUrl, run } = await signIn(hello);
    const { outcome } = await run({ maxOutputTokens: 50 });
    expect(outcome).toEqual({ kind: 'completed' });
    expect(model.requests.at(-1)?.headers).toMatchObject({
      authorization: 'Bearer sk-made-up-key-0123456789',
    });
    expect(model.requests.at(-1)?.body).toMatchObject({ max_output_tokens: 50 });
    expectNoSecrets(log.join(''), relayUrl);
  });
});

describe('error messages', () => {
  it('contain no credentials', async () => {
    const echo: Script = ({ headers }, connection) =>
      connection.reply(403, { error: { message: `Bad token: ${headers.authorization ?? ''}` } });
    for (const script of [echo, http500, http400(), ((_, c) => c.destroy()) as Script]) {
      const { log, relayUrl, run } = await signIn(script);
      const told: string[] = [];
      const clean = cleaner([]);
      const trace = recordingTrace((_, facts) => void told.push(JSON.stringify(atOnce(clean(facts)))));
      const { outcome } = await run({}, { trace });
      expect(outcome.kind).toBe('failed');
      expect(told).not.toEqual([]);
      expectNoSecrets(told.join(''), relayUrl);
      expectNoSecrets(JSON.stringify(outcome), relayUrl);
      expectNoSecrets(log.join(''), relayUrl);
    }
  });
});

describe('the key of a provider', () => {
  it('is set by the relay and unknown to the app-server', async () => {
    const key = 'sk-provider-key-0123456789';
    const proxy = await startProxy(hello, { PROXY_UPSTREAM_API_KEY: key });
    closers.push(() => proxy.close());
    const response = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' });
    expect([response.status, (await response.text()).includes(key)]).toEqual([200, false]);
    expect(proxy.model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    // A client's own key is for us, never for the backend.
    expect(JSON.stringify(proxy.model.requests.at(-1)?.headers)).not.toContain(proxy.key);
    const [worker] = proxy.app.workers();
    const environment = await readFile(`/proc/${worker?.pid ?? 0}/environ`, 'utf8');
    expect(environment).toContain('CODEX_HOME=');
    expect(environment).not.toContain(key);
    expect(JSON.stringify(proxy.log)).not.toContain(key);
  });

  it.each(['on', 'off'])('is not quoted to a client or a log: PROXY_WIRE=%s', async (wire) => {
    const key = 'plain+provider/key=01';
    const quotes: readonly Script[] = [400, 403, 404, 422, 429, 500].map(
      (status) => (_request, connection) =>
        connection.reply(status, {
          error: { message: `We do not know ${key}, ${encodeURIComponent(key)}.`, code: 'odd', param: key },
        }),
    );
    const inStream = fails({ code: 'odd', message: `We do not know ${key}.` });
    const proxy = await startProxy(hello, { PROXY_UPSTREAM_API_KEY: key, PROXY_WIRE: wire });
    closers.push(() => proxy.close());
    for (const script of [...quotes, inStream]) {
      proxy.use(script);
      for (const stream of [false, true]) {
        const response = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', stream });
        expect(await response.text()).not.toMatch(/plain.{1,3}provider/);
      }
    }
    expect(JSON.stringify(proxy.log)).not.toMatch(/plain.{1,3}provider/);
  });

  it.each(['the environment', 'a file'])('of %s is given to the app-server without a relay', async (from) => {
    const key = 'sk-provider-key-0123456789';
    const folder = await mkdtemp(path.join(tmpdir(), 'config-'));
    closers.push(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'config.json');
    await writeFile(file, JSON.stringify({ upstreamApiKey: key }));
    const given = from === 'a file' ? { PROXY_CONFIG: file } : { PROXY_UPSTREAM_API_KEY: key };
    const proxy = await startProxy(hello, { ...given, PROXY_WIRE: 'off' });
    closers.push(() => proxy.close());
    const response = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' });
    expect(response.status).toBe(200);
    expect(proxy.model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
  });
});
