import { NotFoundError } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { checkedClient, type CheckedClient } from './responses-checked.ts';

let proxy: TestProxy;
let client: CheckedClient;
beforeAll(async () => {
  proxy = await startProxy(hello);
  client = checkedClient(proxy);
});
afterAll(async () => {
  await client.close();
  await proxy.close();
});
afterEach(() => client.check());

describe('models.list', () => {
  it('has the models of codex, each with its efforts, and the family of the default', async () => {
    const ids = (await Array.fromAsync(client.openai.models.list())).map((model) => model.id);
    expect(ids).toEqual(
      expect.arrayContaining([
        'gpt-5.5',
        'gpt-5.5-low',
        'gpt-5.5-medium',
        'gpt-5.5-high',
        'gpt-5.5-xhigh',
        'gpt-6.1-sol',
        'gpt-6.1-sol-max',
        'codex-5',
        'codex-5-low',
        'codex-5-high',
      ]),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is the same for everybody', async () => {
    const lists = await Promise.all([client.openai.models.list(), client.openai.models.list()]);
    expect(lists[0].data).toEqual(lists[1].data);
  });
});

describe('models.retrieve', () => {
  it.each(['gpt-5.5', 'gpt-5.5-high', 'codex-5'])('%s', async (id) => {
    expect(await client.openai.models.retrieve(id)).toEqual({
      id,
      object: 'model',
      created: 0,
      owned_by: 'codex',
    });
  });

  it('a name that is not in the list is a NotFoundError', async () => {
    const missing = client.openai.models.retrieve('org/no such model');
    await expect(missing).rejects.toBeInstanceOf(NotFoundError);
    await expect(missing).rejects.toMatchObject({
      status: 404,
      error: {
        message: "The model 'org/no such model' does not exist.",
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    });
  });

  it('every name in the list can be asked for', async () => {
    const [first] = (await client.openai.models.list()).data;
    const response = await client.openai.responses.create({ model: first?.id ?? '', input: 'hi' });
    expect(response.model).toBe(first?.id);
  });
});

describe('the family of the default model', () => {
  it('reaches the backend as the default model with the effort of the name', async () => {
    await client.openai.responses.create({ model: 'codex-5-low', input: 'hi' });
    const sent = proxy.model.requests.at(-1)?.body;
    expect(sent?.['model']).not.toBe('codex-5-low');
    expect(sent?.['reasoning']).toMatchObject({ effort: 'low' });
  });
});
