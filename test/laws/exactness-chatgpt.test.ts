import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { startChatGptProxy, violationsOf, type ChatGptProxy } from '../chatgpt/proxy.ts';
import { obedient } from '../support/scripts.ts';
import { CHATGPT_DIFFERENCES, CHATGPT_ONLY, PIXEL } from './chatgpt-differences.ts';
import { expectedOf, printed, RUNS, SEED, TIMEOUT_MS } from './exact-body.ts';
import { exactRequest } from './exact-requests.ts';
import { without } from './exact-differences.ts';

/** The exactness law for the ChatGPT service, in the Responses format, with its own table in addition to that of providers. */
let proxy: ChatGptProxy;
const images = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(PIXEL, 'base64'));
});
beforeAll(async () => {
  images.listen(0, '127.0.0.1');
  await once(images, 'listening');
  proxy = await startChatGptProxy({
    script: obedient,
    env: {
      PROXY_CHATGPT_LANE: 'full',
      PROXY_TOOL_REPAIR_ATTEMPTS: '0',
      PROXY_IMAGE_FETCH_PRIVATE: 'true',
    },
  });
  proxy.backend.settings.ownEncrypted = new Set(['gAAAAA-opaque']);
});
afterAll(async () => {
  images.close();
  await proxy.close();
});

/** The service accepts neither audio nor other models, requires local shell outputs, and does not run MCP servers. */
const request = exactRequest.filter(
  (body) =>
    body['model'] !== 'someone-elses-model' && !/input_audio|local_shell|"mcp_/.test(JSON.stringify(body)),
);

/** A row that few random requests need. */
const LOADED: JsonObject = {
  model: 'gpt-5.5',
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }],
    },
    { role: 'user', content: 'hi' },
  ],
};

/** Two other such rows. */
const shown = (): JsonObject => {
  const image_url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/a.png`;
  return {
    model: 'gpt-5.5',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url, detail: 'low' },
          { type: 'input_file', filename: 'a.md', file_data: 'data:text/markdown;base64,IyBIaQ==' },
        ],
      },
    ],
  };
};

const arrivedFor = async (body: JsonObject): Promise<JsonObject> => {
  const before = proxy.backend.modelRequests.length;
  const { status, text } = await proxy.post('/v1/responses', body);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  const [arrived, ...more] = proxy.backend.modelRequests.slice(before);
  expect(more).toEqual([]);
  return arrived?.body ?? {};
};

describe('the request to the ChatGPT service', () => {
  it(
    "is the client's own request, but for both tables of differences, and breaks no rule",
    async () => {
      const needed = new Set<string>();
      const property = fc.asyncProperty(request, async (body) => {
        const arrived = await arrivedFor(body);
        expect(printed(arrived)).toBe(printed(expectedOf(body, arrived, CHATGPT_DIFFERENCES)));
        const again = await arrivedFor(body);
        const [one, other] = [arrived, again].map((each) => JSON.stringify(without(each, 'client_metadata')));
        expect(other).toBe(one);
        for (const row of CHATGPT_ONLY) {
          const others = CHATGPT_DIFFERENCES.filter((each) => each !== row);
          if (printed(expectedOf(body, arrived, others)) !== printed(arrived)) needed.add(row.field);
        }
      });
      await fc.assert(property, {
        numRuns: RUNS,
        seed: SEED,
        endOnFailure: RUNS > 100,
        examples: [[LOADED], [shown()]],
      });
      expect(violationsOf(proxy.backend)).toEqual([]);
      expect(CHATGPT_ONLY.map(({ field }) => field).filter((field) => !needed.has(field))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
