import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { answer } from '../../src/demo/answer.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { obedient } from '../support/scripts.ts';
import { expectedOf, printed, RUNS, SEED, TIMEOUT_MS } from './exact-body.ts';
import { PROVIDER_DIFFERENCES } from './exact-differences.ts';
import { exactRequest } from './exact-requests.ts';
import { EXACT_EXAMPLES } from './exact-examples.ts';

/** A provider receives what the client sent, except for the differences in one table. */
let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startProxy(obedient, {
    // Each request must reach the model once.
    PROXY_TOOL_REPAIR_ATTEMPTS: '0',
  });
});
afterAll(() => proxy.close());

/** The one body that reached the model. */
const arrivedFor = async (request: JsonObject): Promise<JsonObject> => {
  const before = proxy.model.requests.at(-1);
  const response = await proxy.post('/v1/responses', request);
  const told = await response.text();
  expect([response.status, response.status === 200 ? '' : told]).toEqual([200, '']);
  const arrived = proxy.model.requests.at(-1);
  expect(arrived).not.toBe(before);
  expect(proxy.model.requests.at(-2)).toBe(before);
  return arrived?.body ?? {};
};

describe('the request to a provider', () => {
  it(
    "is the client's own request, but for the table of differences; and twice it is the same bytes",
    async () => {
      const property = fc.asyncProperty(exactRequest, async (request) => {
        const arrived = await arrivedFor(request);
        expect(printed(arrived)).toBe(printed(expectedOf(request, arrived, PROVIDER_DIFFERENCES)));
        expect(JSON.stringify(await arrivedFor(request))).toBe(JSON.stringify(arrived));
      });
      await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: RUNS > 100 });
    },
    TIMEOUT_MS,
  );

  it('needs every row of the table', async () => {
    const needed = new Set<string>();
    for (const request of EXACT_EXAMPLES) {
      const arrived = await arrivedFor(request);
      expect(printed(arrived)).toBe(printed(expectedOf(request, arrived, PROVIDER_DIFFERENCES)));
      for (const row of PROVIDER_DIFFERENCES) {
        const others = PROVIDER_DIFFERENCES.filter((other) => other !== row);
        const rest = expectedOf(request, arrived, others);
        if (printed(rest) !== printed(arrived)) needed.add(row.field);
      }
    }
    expect(PROVIDER_DIFFERENCES.map((row) => row.field).filter((field) => !needed.has(field))).toEqual([]);
  });

  it("is repeated in the next request of a turn, followed by the model's output", async () => {
    const [request] = fc.sample(
      exactRequest.filter(
        ({ input, tools, tool_choice: choice }) =>
          Array.isArray(input) && Array.isArray(tools) && (choice ?? null) === null,
      ),
      { numRuns: 1, seed: SEED },
    );
    const call = { name: 'never_declared', arguments: {}, callId: 'call_1' };
    proxy.use((asked, connection) => {
      const isFirst = !JSON.stringify(asked.body).includes('"call_1"');
      return answer(connection, isFirst ? [{ call }] : [{ text: 'Never mind.' }]);
    });
    await (await proxy.post('/v1/responses', request)).text();
    proxy.use(obedient);
    const [first, second] = proxy.model.requests.slice(-2).map(({ body }) => body);
    const [input, longer] = [first, second].map((body) => body?.['input'] as readonly JsonObject[]);
    expect(printed({ ...second, input: longer?.slice(0, input?.length) })).toBe(printed(first ?? {}));
    expect(longer?.slice(input?.length)).toEqual([
      {
        type: 'function_call',
        id: expect.any(String),
        call_id: 'call_1',
        name: 'never_declared',
        arguments: '{}',
        status: 'completed',
      },
      {
        type: 'function_call_output',
        id: expect.any(String),
        call_id: 'call_1',
        output: 'unsupported call: never_declared',
      },
    ]);
  });
});
