import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { readyChecks } from '../support/ready-checks.ts';
import { hello } from '../support/scripts.ts';
import { INVALID_REQUESTS } from './invalid-requests.ts';

/** Complete HTTP responses to invalid requests. `npx vitest run test/golden --update` rewrites the files. */
const proxy = await openProxy(hello);
await readyChecks(proxy);
const before = proxy.model.requests.length;

const golden = (name: string): string => path.join(import.meta.dirname, 'http-errors', `${name}.json`);

/** The answers of Anthropic's API contain the id of their request. */
const NAMED = { 'x-request-id': 'req_golden' };

const answered = async (name: string, answer: Response): Promise<object> => ({
  name,
  status: answer.status,
  body: await answer.json(),
});

const nameOf = (endpoint: string): string => endpoint.slice('/v1/'.length).replace('/', '-');

describe('the answer to an invalid request', () => {
  it.each(Object.entries(INVALID_REQUESTS))('is exact for %s', async (endpoint, bodies) => {
    const answers: object[] = [];
    for (const [name, body] of Object.entries(bodies)) {
      answers.push(await answered(name, await proxy.post(endpoint, body, { headers: NAMED })));
    }
    await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot(golden(nameOf(endpoint)));
    expect(proxy.model.requests.slice(before)).toEqual([]);
  });

  it('is exact for an unknown endpoint', async () => {
    const key = { authorization: `Bearer ${proxy.key}` };
    const send = (at: string, init: RequestInit): Promise<Response> => fetch(proxy.url + at, init);
    const answers = [
      await answered('no key', await send('/v1/models', {})),
      await answered(
        'a wrong key',
        await send('/v1/models', { headers: { authorization: 'Bearer sk-wrong' } }),
      ),
      await answered('an unknown URL', await send('/v1/everything', { headers: key })),
      await answered(
        'a base URL without /v1',
        await send('/responses', { method: 'POST', headers: key, body: '{}' }),
      ),
      await answered('a wrong method', await send('/v1/responses', { method: 'PUT', headers: key })),
      await answered('an unknown model', await send('/v1/models/none', { headers: key })),
      await answered(
        'half a body',
        await send('/v1/responses', { method: 'POST', headers: key, body: '{"model":' }),
      ),
      await answered(
        'an unknown encoding',
        await send('/v1/responses', {
          method: 'POST',
          headers: { ...key, 'content-encoding': 'lzma' },
          body: 'x',
        }),
      ),
    ];
    await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot(golden('any'));
  });

  it("is exact for clients of Anthropic's API", async () => {
    const key = { ...NAMED, 'x-api-key': proxy.key };
    const send = (at: string, init: RequestInit): Promise<Response> => fetch(proxy.url + at, init);
    const version = { ...key, 'anthropic-version': '2023-06-01' };
    const answers = [
      await answered('no key', await send('/v1/messages', { method: 'POST', headers: NAMED })),
      await answered('a wrong method', await send('/v1/messages', { headers: key })),
      await answered('no batches', await send('/v1/messages/batches', { method: 'POST', headers: key })),
      await answered('nothing to delete', await send('/v1/messages/x', { method: 'DELETE', headers: key })),
      await answered('no files', await send('/v1/files', { headers: version })),
      await answered(
        'a base URL with /v1',
        await send('/v1/v1/messages', { method: 'POST', headers: version, body: '{}' }),
      ),
      await answered(
        'half a body',
        await send('/v1/messages', { method: 'POST', headers: key, body: '{"model":' }),
      ),
      await answered(
        'a body that is too deep',
        await send('/v1/messages', { method: 'POST', headers: key, body: '['.repeat(100_000) }),
      ),
    ];
    await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot(golden('any-anthropic'));
  });
});
