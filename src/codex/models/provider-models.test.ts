import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../../test/support/models.ts';
import { createProviderModels, type ProviderModels } from './provider-models.ts';

const BUNDLED = modelList([knownModel('gpt-5.5')]);
const MINUTE = 60_000;

const server = createServer((incoming, response) => {
  asked.push([incoming.method, incoming.url, incoming.headers.authorization]);
  answer(response);
});
let answer: (response: ServerResponse) => void;
let asked: unknown[];
let failed: string[];
let now: number;
let opened: ProviderModels;

const list =
  (...ids: readonly string[]) =>
  (response: ServerResponse): void =>
    void response.end(JSON.stringify({ data: ids.map((id) => ({ id })) }));

beforeEach(async () => {
  [asked, failed, now] = [[], [], 1_000_000];
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => opened.close());
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const open = (apiKey: string | null = null): ProviderModels => {
  opened = createProviderModels({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKey,
    bundled: BUNDLED,
    clock: { now: () => now },
    onFailed: (reason) => failed.push(reason),
  });
  return opened;
};

const ids = async (models: ProviderModels) => (await models.models()).models.map(({ id }) => id);

describe('createProviderModels', () => {
  it('asks once with the key, and again when the list is old', async () => {
    answer = list('a');
    const models = open('sk-1');
    const first = await models.models();
    expect([await ids(models), (await models.models()) === first, asked]).toEqual([
      ['a'],
      true,
      [['GET', '/v1/models', 'Bearer sk-1']],
    ]);
    answer = list('a', 'b');
    now += 6 * 60 * MINUTE;
    // The old list is used until there is a new one.
    expect(await ids(models)).toEqual(['a']);
    await expect.poll(() => ids(models)).toEqual(['a', 'b']);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, typeof answer, string]>([
    [
      'refused',
      (response) => void response.writeHead(401).end('{}'),
      'the provider answered with status 401',
    ],
    ['no list', (response) => void response.end('{}'), 'the answer is not a list of models'],
    ['cut off', (response) => void response.destroy(), 'other side closed'],
  ])("%s: uses codex's list and asks again later", async (_what, given, reason) => {
    answer = given;
    const models = open();
    expect([await models.models(), failed]).toEqual([BUNDLED, [reason]]);
    answer = list('a');
    expect([await ids(models), asked.length]).toEqual([['gpt-5.5'], 1]);
    now += 5 * MINUTE;
    await expect.poll(() => ids(models)).toEqual(['a']);
  });

  it('asks on request, but not all the time', async () => {
    answer = list('a');
    const models = open();
    await models.models();
    models.refresh();
    expect(asked).toHaveLength(1);
    now += MINUTE;
    models.refresh();
    models.refresh();
    await expect.poll(() => asked).toHaveLength(2);
  });

  it('abandons a silent provider when closed, without a report', async () => {
    const silent = Promise.withResolvers<void>();
    answer = () => silent.resolve();
    const models = open();
    await silent.promise;
    await models.close();
    expect(failed).toEqual([]);
  });
});
