import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoScript } from '../../src/demo/demo-script.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
let proxy: TestProxy;
beforeAll(async () => { proxy = await startProxy(demoScript()); });
afterAll(() => proxy.close());
describe('smoke', () => {
  it('streams', async () => {
    const s = proxy.openai.responses.stream({ model: 'gpt-5.5', input: 'hi', max_output_tokens: 16 });
    const r = await s.finalResponse();
    expect(r.status).toBe('incomplete');
    expect(r.output_text.length).toBeGreaterThan(5);
  });
});
