import { describe, expect, it } from 'vitest';

import { inTurn, hello, toolCall } from '../support/scripts.ts';
import { freshProxies } from './hooks.ts';
import { codeOf, itemsSent, outputText } from './proxy.ts';

/** `PROXY_WIRE=off`, which block pages also lead to: codex connects to its backend directly. */
const fresh = freshProxies();
const HELLO = 'Hello from the scripted model.';
const TOOL = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

describe('without the relay', () => {
  it('a model of the codex format works, and losses are reported', async () => {
    const at = await fresh({
      env: { PROXY_WIRE: 'off' },
      script: inTurn(hello, toolCall('get_weather', {})),
      prepare: ({ settings }) => {
        settings.attribution = true;
        settings.settingsDelayMs = 3_000;
      },
    });
    const ask = { model: 'gpt-6.1-sol', instructions: 'Be kind.', input: 'Hello?' };
    expect(outputText(await at.post('/v1/responses', ask))).toBe(HELLO);
    expect(itemsSent(at.backend.modelRequests[0])).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello?' }] },
    ]);
    const forced = { ...ask, tools: [TOOL], tool_choice: 'required', parallel_tool_calls: true };
    const answered = await at.post('/v1/responses', { ...forced, temperature: 0.5 });
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-proxy-ignored-params')?.split(', ').toSorted()).toEqual([
      'parallel_tool_calls',
      'temperature',
    ]);
    expect(at.backend.requests.filter(({ path }) => path.includes('settings'))).toEqual([]);
  });

  it('a model of the Responses format fails, and the error says what helps', async () => {
    const at = await fresh({ env: { PROXY_WIRE: 'off' } });
    const answered = await at.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?' });
    expect(codeOf(answered)).toBe('400 invalid_prompt');
    expect(answered.text).toMatch(/Instructions are required .*PROXY_WIRE/);
    // The binary itself never sends them.
    at.backend.reset();
  });
});
