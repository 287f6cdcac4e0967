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
      answers.push(await answered(name, await proxy.post(endpoint, body)));
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
});
