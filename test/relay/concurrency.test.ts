import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { hangBeforeHeaders, hangMidStream, hello } from '../support/scripts.ts';

const AT_ONCE = 50;

/** Echoes the request after a pause in which others arrive. */
const echoes: Script = async ({ body }, connection) => {
  const { temperature, metadata, tools, input, prompt_cache_key, max_output_tokens } = body;
  const [tool] = tools as readonly JsonObject[];
  await connection.wait(Math.random() * 30);
  await answer(connection, [
    {
      text: JSON.stringify({
        temperature,
        metadata,
        tool: tool?.['name'],
        key: prompt_cache_key,
        max: max_output_tokens,
        role: (input as readonly JsonObject[])[0]?.['role'],
      }),
    },
  ]);
};

const proxy = await openProxy(hello);

describe('fifty turns at once', () => {
  it("never get one another's parameters", async () => {
    proxy.use(echoes);
    const turn = fc.record({
      temperature: fc.integer({ min: 0, max: 199 }).map((value) => value / 100),
      mark: fc.string({ minLength: 1, maxLength: 60 }),
      tool: fc.stringMatching(/^[a-z]{1,20}$/),
      max: fc.integer({ min: 500, max: 5_000 }),
      role: fc.constantFrom('system', 'user'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (turns) => {
        const answers = await Promise.all(
          turns.map(async (one) => {
            const response = await proxy.post('/v1/responses', {
              model: 'gpt-5.5',
              input: [
                { role: one.role, content: 'first' },
                { role: 'user', content: 'then' },
              ],
              temperature: one.temperature,
              metadata: { mark: one.mark },
              prompt_cache_key: one.mark,
              max_output_tokens: one.max,
              tools: [{ type: 'function', name: one.tool, parameters: { type: 'object', properties: {} } }],
            });
            const { output } = (await response.json()) as {
              output: readonly { content: readonly { text: string }[] }[];
            };
            return JSON.parse(output[0]?.content[0]?.text ?? 'null') as unknown;
          }),
        );
        expect(answers).toEqual(
          turns.map(({ temperature, mark, tool, max, role }) => ({
            temperature,
            metadata: { mark },
            tool,
            key: mark,
            max,
            role,
          })),
        );
      }),
      { numRuns: 4 },
    );
  });
});

describe('a client that disconnects', () => {
  it.each([
    ['before the backend has said anything', hangBeforeHeaders],
    ['in the middle of an answer', hangMidStream],
  ])('%s: the upstream request is closed', async (_, script) => {
    for (const stream of [true, false]) {
      proxy.use(script);
      const gone = new AbortController();
      const left = proxy
        .post('/v1/responses', { model: 'gpt-5.5', input: 'hi', stream }, { signal: gone.signal })
        .then((response) => response.text())
        .catch(() => 'gone');
      await expect.poll(() => proxy.model.activeRequests()).toBe(1);
      gone.abort();
      expect(await left).toBe('gone');
      await expect.poll(() => proxy.model.activeRequests()).toBe(0);
      expect(proxy.model.requests.at(-1)?.ending).toBe('aborted');
    }
  });

  it('ends its turn if it is cut for its length', async () => {
    const endless: Script = async (_request, connection) => {
      for (let index = 0; !connection.closed; index += 1) {
        connection.write(
          `event: response.output_text.delta\ndata: ${JSON.stringify({
            type: 'response.output_text.delta',
            item_id: 'msg_1',
            output_index: 0,
            content_index: 0,
            delta: `word${index} `,
          })}\n\n`,
        );
        await connection.wait(2);
      }
    };
    const first: Script = (request, connection) => {
      connection.event({
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
      });
      return endless(request, connection);
    };
    const limited = await startProxy(first, { PROXY_UPSTREAM_PARAMS: 'none' });
    const response = await limited.post('/v1/responses', {
      model: 'gpt-5.5',
      input: 'hi',
      max_output_tokens: 16,
    });
    expect(await response.json()).toMatchObject({ status: 'incomplete' });
    await expect.poll(() => limited.model.activeRequests()).toBe(0);
    await limited.close();
  });
});
