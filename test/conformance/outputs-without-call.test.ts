import { describe, expect, it } from 'vitest';

import { isJsonObject, listIn, textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** Outputs of tools that no call asked for: codex as a client sends them. They have the name of the tool in place of a call. */

const start = freshProxies();

const OUTPUT = { type: 'function_call_output', name: 'plan', namespace: 'codex', output: 'Approved.' };
const INPUT = [{ role: 'user', content: 'Hi' }, OUTPUT, { role: 'user', content: 'Go on' }];
const ASK = { model: 'gpt-5.5', input: INPUT };

const without = (item: JsonObject, name: string): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([key]) => key !== name));

type Proxy = Awaited<ReturnType<typeof start>>;

/** The outputs in the last model request, without their ids. */
const sentOutputs = ({ model }: Proxy): readonly JsonObject[] =>
  listIn(model.requests.at(-1)?.body as JsonObject, 'input')
    .filter(isJsonObject)
    .filter(({ type }) => type === 'function_call_output')
    .map((item) => without(item, 'id'));

const okay = async (answer: Response): Promise<JsonObject> => {
  const body = (await answer.json()) as JsonObject;
  expect([answer.status, body['error'] ?? null]).toEqual([200, null]);
  return body;
};

describe.each(['on', 'off'])('an output without a call, PROXY_WIRE=%s', (wire) => {
  it('reaches the model, also from a stored response and a conversation', async () => {
    const proxy = await start(hello, { PROXY_WIRE: wire });
    const id = textIn(await okay(await proxy.post('/v1/responses', ASK)), 'id');
    expect(sentOutputs(proxy)).toEqual([OUTPUT]);
    await okay(
      await proxy.post('/v1/responses', { model: 'gpt-5.5', previous_response_id: id, input: 'More' }),
    );
    expect(sentOutputs(proxy)).toEqual([OUTPUT]);
    const items = await okay(await proxy.get(`/v1/responses/${id}/input_items?order=asc`));
    expect(listIn(items, 'data')[1]).toMatchObject(OUTPUT);
    const conversation = await okay(
      await proxy.post('/v1/conversations', { items: INPUT.map((item) => ({ type: 'message', ...item })) }),
    );
    await okay(
      await proxy.post('/v1/responses', {
        model: 'gpt-5.5',
        conversation: conversation['id'],
        input: 'More',
      }),
    );
    expect(sentOutputs(proxy)).toEqual([OUTPUT]);
  });

  it('is counted and compacted', async () => {
    const proxy = await start(hello, { PROXY_WIRE: wire });
    const counted = await okay(await proxy.post('/v1/responses/input_tokens', ASK));
    expect(counted['input_tokens']).toBeGreaterThan(0);
    const compacted = await okay(await proxy.post('/v1/responses/compact', ASK));
    expect(listIn(compacted, 'output')).not.toEqual([]);
  });
});
