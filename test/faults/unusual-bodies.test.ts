import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { sentItems } from '../conformance/responses-sent.ts';
import { openProxy } from '../support/open-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { sendHalf } from './client.ts';

/** Bodies that the app-server would never answer if they reached it unchanged. */

const proxy = await openProxy(hello);

/** A schema nested this deep: two levels of JSON for each property. */
const nested = (levels: number): JsonObject =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(levels - 1) } };

const ask = (more: object): Promise<Response> =>
  proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', ...more });
const tool = (levels: number) => ({
  tools: [{ type: 'function', name: 'f', parameters: nested(levels), strict: false }],
});

describe('an unusual body', () => {
  it('with lone surrogates reaches the model with the replacement character', async () => {
    const response = await ask({ input: 'cut \uD83D here', metadata: { a: '\uDE00' } });
    expect(response.status).toBe(200);
    const texts = sentItems(proxy.model).map((item) => JSON.stringify(item['content']));
    expect(texts).toEqual([expect.stringContaining('cut \uFFFD here')]);
  });

  it('as deep as allowed is answered', async () => {
    expect((await ask(tool(46))).status).toBe(200);
  });

  it('that is deeper is a 400 at once', async () => {
    const response = await ask(tool(60));
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: {
          message: 'The JSON body is nested too deeply: at most 100 levels are allowed.',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_json',
        },
      },
    ]);
  });

  it('with a schema too wide to compile is answered, and its answer is not validated', async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `p${index}`);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: names,
      additionalProperties: false,
    };
    const format = { type: 'json_schema', name: 'wide', schema, strict: false };
    expect((await ask({ text: { format } })).status).toBe(200);
  });
});

describe('a body that never ends', () => {
  it('does not delay the shutdown of the server', async () => {
    const own = await startProxy(hello);
    const socket = await sendHalf(own);
    await own.app.stop(50);
    expect(own.app.workers()).toEqual([]);
    socket.destroy();
    await own.close();
  });
});
