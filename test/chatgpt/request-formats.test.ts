import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { toolCall } from '../support/scripts.ts';
import { freshProxies } from './hooks.ts';
import { itemsSent, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy } from './proxy.ts';

/** What is learned about the service is remembered, so each of these tests has a new proxy. */
const fresh = freshProxies();

const started = (env: Record<string, string> = {}): Promise<ChatGptProxy> => fresh({ env });

const HELLO = 'Hello from the scripted model.';
const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
const FORCED = { type: 'function', name: 'get_weather' };

const ask = (at: ChatGptProxy, more: JsonObject = {}): Promise<Answered> =>
  at.post('/v1/responses', { model: 'gpt-6.1-sol', input: 'Hello?', ...more });
const formats = ({ backend }: ChatGptProxy): readonly string[] =>
  backend.modelRequests.map(({ requestFormat }) => requestFormat);

describe('a request format that the service refuses', () => {
  it('the Responses format for a codex-format model: the other is tried, losses are reported, and it is remembered', async () => {
    const at = await started();
    at.backend.settings.responsesFormatForCodexModels = 'refused';
    at.backend.use(toolCall());
    for (const stream of [false, true]) {
      const answered = await ask(at, { stream, tools: [WEATHER], tool_choice: FORCED });
      expect(answered.status).toBe(200);
      expect(JSON.stringify(answered.json['output'])).toContain('get_weather');
    }
    expect(formats(at)).toEqual(['responses', 'codex', 'codex']);
  });

  it('the codex format: the other is tried, and it is remembered', async () => {
    const at = await started();
    at.backend.settings.codexFormat = 'refused';
    for (const stream of [false, true, false])
      expect(outputText(await ask(at, { stream, instructions: 'Be brief.' }))).toBe(HELLO);
    expect(formats(at)).toEqual(['codex', 'responses', 'responses', 'responses']);
    expect(at.backend.modelRequests.at(-1)?.body['instructions']).toBe('Be brief.');
  });

  it('both: the client gets the error after one attempt in each', async () => {
    const at = await started();
    at.backend.settings.codexFormat = 'refused';
    at.backend.settings.responsesFormatForCodexModels = 'refused';
    const answered = await ask(at);
    expect(answered.status).toBe(400);
    expect(formats(at)).toEqual(['codex', 'responses']);
  });
});

describe('PROXY_CHATGPT_LANE', () => {
  it('full: every model uses the Responses format', async () => {
    const at = await started({ PROXY_CHATGPT_LANE: 'full' });
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(outputText(await ask(at, { model: 'gpt-5.5' }))).toBe(HELLO);
    expect(formats(at)).toEqual(['responses', 'responses']);
    expect(at.backend.modelRequests.map(({ body }) => body['model'])).toEqual(['gpt-6.1-sol', 'gpt-5.5']);
  });

  it('lite: codex-format models never leave it', async () => {
    const at = await started({ PROXY_CHATGPT_LANE: 'lite' });
    at.backend.use(toolCall());
    const answered = await ask(at, { tools: [WEATHER], tool_choice: FORCED, parallel_tool_calls: true });
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-proxy-ignored-params')).toBe('parallel_tool_calls');
    expect(formats(at)).toEqual(['codex']);
    // That request format has no field for it.
    expect(itemsSent(at.backend.modelRequests.at(-1)).at(-1)).toMatchObject({
      role: 'developer',
      content: [{ text: expect.stringContaining('the tool "get_weather"') as string }],
    });
  });
});

describe('instructions that the service refuses', () => {
  it('empty ones: sent again with a neutral sentence, and it is remembered', async () => {
    const at = await started();
    at.backend.settings.emptyInstructions = 'missing';
    for (const stream of [false, true])
      expect(outputText(await ask(at, { model: 'gpt-5.5', stream }))).toBe(HELLO);
    const sent = at.backend.modelRequests.map(({ body }) => body['instructions'] === '');
    expect(sent).toEqual([true, false, false]);
    expect(itemsSent(at.backend.modelRequests.at(-1))).toMatchObject([{ role: 'user' }]);
  });

  it("a client's own: sent again as a developer message, and it is remembered", async () => {
    const at = await started();
    at.backend.settings.isValidInstructions = (text) => !text.includes('pirate');
    const instructions = 'Talk like a pirate.';
    for (const stream of [false, true])
      expect(outputText(await ask(at, { model: 'gpt-5.5', stream, instructions }))).toBe(HELLO);
    expect(at.backend.modelRequests.map(({ body }) => body['instructions'] === instructions)).toEqual([
      true,
      false,
      false,
    ]);
    expect(itemsSent(at.backend.modelRequests.at(-1))).toMatchObject([
      { role: 'developer', content: [{ text: instructions }] },
      { role: 'user' },
    ]);
  });
});
