import { afterAll, describe, expect, it } from 'vitest';

import { collectSse, eventsOf } from '../../test/support/sse.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { demoScript } from './demo-script.ts';
import { startModelServer } from './model-server.ts';
import { createDemoThread } from './threaded-demo.ts';

// A busy machine needs a while to load the thread.
const thread = createDemoThread({ timeoutMs: 5_000, waitMs: 30_000 });
const server = await startModelServer({
  script: demoScript({ computeSteps: thread.computeSteps, deltaDelayMs: 0 }),
});
afterAll(async () => {
  await server.close();
  await thread.close();
});

const textFor = async (schema: JsonObject): Promise<unknown> => {
  const body = {
    model: 'demo',
    stream: true,
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'x', schema } },
  };
  const response = await fetch(`${server.baseUrl}/responses`, { method: 'POST', body: JSON.stringify(body) });
  const done = eventsOf(await collectSse(response)).find(
    (event) => event['type'] === 'response.output_text.done',
  );
  return done?.['text'];
};

describe('the demo model in its thread', () => {
  it('answers with a value that matches the schema', async () => {
    expect(await textFor({ type: 'object', properties: { a: { const: 1 } }, required: ['a'] })).toBe(
      '{"a":1}',
    );
  });

  it('answers with the default text if a schema takes too long', async () => {
    const either = { anyOf: [{ type: 'string' }, { type: 'number' }] };
    expect(await textFor({ allOf: Array.from({ length: 40 }, () => either) })).toMatch(
      /^Hello! I am the demo model/,
    );
    expect(await textFor({ type: 'boolean' })).toBe('true');
  });
});
