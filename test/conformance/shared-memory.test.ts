import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

import { startModelServer, type Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { TestProxy } from '../support/proxy.ts';
import { inTurn, says } from '../support/scripts.ts';
import { sentBody, sentItems } from './responses-sent.ts';

/** What a server remembers about conversations besides their content survives its restart, and instances share it. */

const start = freshProxies();
let script: Script;
const model = await startModelServer({
  script: (request, connection) => script(request, connection),
  keepRequests: 100,
});
const stateDir = await mkdtemp(path.join(tmpdir(), 'shared-memory-'));
afterAll(async () => {
  await model.close();
  await rm(stateDir, { recursive: true, force: true });
});

let rounds = 0;
/** Each test has call ids of its own. */
const callId = (): string => `call_Ab3dEf6hIj9lMn2pQr5t${rounds}`;
const TOOL = { type: 'function' as const, function: { name: 'get_weather', parameters: { type: 'object' } } };
const QUESTION: ChatCompletionMessageParam = { role: 'user', content: 'Weather?' };

beforeEach(() => {
  rounds += 1;
  script = inTurn(
    says([
      { reasoning: { summary: ['About it.'], encrypted: 'sealed', id: 'rs_1' } },
      { call: { name: 'get_weather', arguments: {}, callId: callId() } },
      { call: { name: 'get_weather', arguments: {}, callId: `${callId()}b` } },
    ]),
    says([{ text: 'Sun.' }]),
  );
});

/** A server with the same state and the same model as the one before. */
const serve = (env: Readonly<Record<string, string>>): Promise<TestProxy> =>
  start(() => {}, { PROXY_STATE_DIR: stateDir, PROXY_UPSTREAM_BASE_URL: model.baseUrl, ...env });

const chat = async (proxy: TestProxy, messages: readonly ChatCompletionMessageParam[]) => {
  const ask = { model: 'gpt-5.5', messages: [...messages], tools: [TOOL] };
  const message = (await proxy.openai.chat.completions.create(ask)).choices[0]?.message;
  if (message === undefined) throw new Error('no choice');
  return message;
};

/** The last model request, without what codex names anew in every turn. */
const lastRequest = (): object => {
  const { client_metadata: _, ...body } = sentBody(model);
  return { body, session: model.requests.at(-1)?.headers['session-id'] };
};

const itemsSent = (): readonly unknown[] =>
  sentItems(model).map((item) => item['encrypted_content'] ?? item['role'] ?? item['type']);

interface Round {
  readonly request: object;
  readonly items: readonly unknown[];
}

/** The first round, and the request of the second one, which can be repeated. */
const firstRound = async (proxy: TestProxy): Promise<(on: TestProxy) => Promise<Round>> => {
  const message = await chat(proxy, [QUESTION]);
  const outputs = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: 'Sun.',
  }));
  return async (on) => {
    await chat(on, [QUESTION, message, ...outputs]);
    return { request: lastRequest(), items: itemsSent() };
  };
};

/** The second round on the server that served the first one, and on the next one. */
const secondRounds = async (env: Readonly<Record<string, string>>) => {
  const first = await serve(env);
  const secondRound = await firstRound(first);
  const before = await secondRound(first);
  await first.close();
  return { before, after: await secondRound(await serve(env)) };
};

const WHOLE = [
  'user',
  'sealed',
  'function_call',
  'function_call',
  'function_call_output',
  'function_call_output',
];
const WITHOUT = WHOLE.filter((name) => name !== 'sealed');

describe('the second round of a tool conversation, after a restart', () => {
  it('is the same model request as before: cache id, session and reasoning', async () => {
    const { before, after } = await secondRounds({});
    expect(before.items).toEqual(WHOLE);
    expect(after).toEqual(before);
  });

  it('has its reasoning without the relay too', async () => {
    const { before, after } = await secondRounds({ PROXY_WIRE: 'off' });
    expect([before.items, after.items]).toEqual([WHOLE, WHOLE]);
  });

  it('has nothing of before if nothing is kept', async () => {
    const { before, after } = await secondRounds({ PROXY_STORE: 'off' });
    expect([before.items, after.items]).toEqual([WHOLE, WITHOUT]);
    expect(after.request).not.toMatchObject({ session: (before.request as { session: string }).session });
  });

  it('has no reasoning of a request with store: false', async () => {
    const ask = {
      model: 'gpt-5.5',
      store: false,
      tools: [{ type: 'function' as const, name: 'get_weather', parameters: {}, strict: false }],
    };
    const question = { role: 'user' as const, content: 'Weather, unstored?' };
    const first = await serve({});
    const { output } = await first.openai.responses.create({ ...ask, input: [question] });
    const calls = output.filter((item) => item.type === 'function_call');
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: 'Sun.',
    }));
    const second = async (proxy: TestProxy): Promise<readonly unknown[]> => {
      await proxy.openai.responses.create({ ...ask, input: [question, ...calls, ...outputs] });
      return itemsSent();
    };
    const before = await second(first);
    await first.close();
    expect([before, await second(await serve({}))]).toEqual([WHOLE, WITHOUT]);
  });

  it('has no reasoning if none is remembered, but its cache id', async () => {
    const { before, after } = await secondRounds({ PROXY_REASONING_MEMORY_MB: '0' });
    expect([before.items, after]).toEqual([WITHOUT, before]);
  });
});

describe('the second round on another instance with the same PostgreSQL', () => {
  it('is the same model request as on the first one', async () => {
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const database = new Client({ connectionString: databaseUrl });
    await database.connect();
    const env = (name: string) => ({
      PROXY_DATABASE_URL: databaseUrl,
      PROXY_STATE_DIR: path.join(stateDir, name),
    });
    const [one, other] = [await serve(env('one')), await serve(env('other'))];
    const secondRound = await firstRound(one);
    // They are written while the client runs its tools: the cache id, and the reasoning by both calls. The key came first.
    await expect
      .poll(async () => {
        const { rows } = await database.query<{ readonly kind: string }>(
          "select kind from memory where kind <> 'store-check' order by kind",
        );
        return rows.map(({ kind }) => kind);
      })
      .toEqual(['cache-id', 'reasoning', 'reasoning', 'signature-key']);
    await database.end();
    const onOther = await secondRound(other);
    expect(onOther.items).toEqual(WHOLE);
    expect(onOther).toEqual(await secondRound(one));
  });
});

describe('the file with cache ids of an earlier version', () => {
  it.each(['on', 'off'])('is removed (PROXY_STORE=%s)', async (store) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'shared-memory-'));
    await writeFile(path.join(dir, 'conversations'), 'an id\n');
    const proxy = await start(() => {}, { PROXY_STATE_DIR: dir, PROXY_STORE: store });
    expect(await readdir(dir)).not.toContain('conversations');
    await proxy.close();
    await rm(dir, { recursive: true, force: true });
  });
});
