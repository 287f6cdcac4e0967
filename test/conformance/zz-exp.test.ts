import { afterAll, beforeAll, it } from 'vitest';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import * as s from '../support/scripts.ts';
import { openaiSchema, validateOpenResponse, validateOpenResponseEvent } from '../support/schema.ts';
let proxy: TestProxy;
beforeAll(async () => { proxy = await startProxy(s.hello); });
afterAll(() => proxy.close());
const tools = [{ type: 'function', name: 'get_weather', description: 'd', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } }];
it('x', async () => {
  for (const model of ['gpt-5.5', 'gpt-6.1-sol', 'mystery']) for (const t of [undefined, tools]) {
  await proxy.post('/v1/responses', { model, input: 'hi', instructions: 'Be kind.', ...(t ? { tools: t } : {}) });
  console.log(JSON.stringify(proxy.model.requests.at(-1)?.body));
  }
  console.log(validateOpenResponse({}), validateOpenResponseEvent({ type: 'response.completed' }), validateOpenResponseEvent({ type: 'response.output_text.delta' }), validateOpenResponseEvent({ type: 'bogus' }));
  for (const n of ['Error', 'ErrorResponse', 'ListModelsResponse', 'Model']) try { console.log(n, openaiSchema?.validate(n, {})); } catch (e) { console.log(String(e)); }
  const r = await proxy.get('/v1/models'); console.log((await r.json() as any).data.map((m: any) => m.id).join(' '));
  console.log(proxy.log.slice(-3));
});
