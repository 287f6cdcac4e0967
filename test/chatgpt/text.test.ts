import { describe, expect, it } from 'vitest';

import { findCodexBinary } from '../../src/codex/binary.ts';
import { HELLO_USAGE } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, outputText } from './proxy.ts';
import type { ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const HELLO = 'Hello from the scripted model.';
const RESPONSES = ['gpt-5.5', 'gpt-5.4-mini'];
const CODEX = ['gpt-6.1-sol', 'gpt-5.6-luna'];

const message = (role: string, text: string): object => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});

describe('plain text', () => {
  it.each([...RESPONSES, ...CODEX])(
    'is answered on %s, as JSON and as a stream, by both APIs',
    async (model) => {
      for (const stream of [false, true]) {
        const answered = await proxy.post('/v1/responses', { model, stream, input: 'Hello?' });
        expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
        expect(answered.json['usage']).toMatchObject({ input_tokens: HELLO_USAGE.inputTokens });
        const chat = await proxy.post('/v1/chat/completions', {
          model,
          stream,
          messages: [{ role: 'user', content: 'Hello?' }],
        });
        expect([chat.status, chat.text.includes('scripted')]).toEqual([200, true]);
      }
      expect(
        proxy.backend.modelRequests.map(({ requestFormat, broken }) => ({ requestFormat, broken })),
      ).toEqual(
        Array.from({ length: 4 }, () => ({
          requestFormat: CODEX.includes(model) ? 'codex' : 'responses',
          broken: [],
        })),
      );
    },
  );

  it("writes the name of a conversation with the account's smallest model at low effort", async () => {
    const title =
      'Generate a concise title (max 5 words) for this conversation based on its content. Return only the title without any explanation or quotes.\n\nConversation:\nuser: hi';
    const answered = await proxy.post(
      '/v1/chat/completions',
      { model: 'gpt-5.5-high', temperature: 0.1, messages: [{ role: 'user', content: title }] },
      { 'dangerously-allow-browser': 'true' },
    );
    expect([answered.status, answered.json['model']]).toEqual([200, 'gpt-5.5-high']);
    expect(answered.text).toContain(HELLO);
    expect(
      proxy.backend.modelRequests.map(({ body, broken }) => [body['model'], body['reasoning'], broken]),
    ).toEqual([['gpt-6-luna', expect.objectContaining({ effort: 'low' }), []]]);
  });

  it.each(RESPONSES)('%s gets instructions in their field, which is never missing', async (model) => {
    await proxy.post('/v1/responses', { model, input: 'Hello?', instructions: 'Be brief.' });
    await proxy.post('/v1/responses', { model, input: 'Hello?' });
    const sent = proxy.backend.modelRequests.map((request) => ({
      instructions: request.body['instructions'],
      items: itemsSent(request),
    }));
    expect(sent).toEqual([
      { instructions: 'Be brief.', items: [message('user', 'Hello?')] },
      { instructions: '', items: [message('user', 'Hello?')] },
    ]);
  });

  it.each(CODEX)('%s gets instructions as codex would send them', async (model) => {
    await proxy.post('/v1/responses', { model, input: 'Hello?', instructions: 'Be brief.' });
    await proxy.post('/v1/responses', { model, input: 'Hello?' });
    expect(proxy.backend.modelRequests.map(itemsSent)).toEqual([
      [message('developer', 'Be brief.'), message('user', 'Hello?')],
      [message('user', 'Hello?')],
    ]);
  });

  it('sends a system message to the model as a developer message', async () => {
    for (const model of ['gpt-5.5', 'gpt-6.1-sol'])
      await proxy.post('/v1/responses', {
        model,
        input: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hello?' },
        ],
      });
    for (const request of proxy.backend.modelRequests)
      expect(itemsSent(request)).toEqual([message('developer', 'Be kind.'), message('user', 'Hello?')]);
  });
});

describe('one request', () => {
  it('is one request: only the model is called', async () => {
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Warm up.' });
    const isOther = ({ path }: { readonly path: string }): boolean => !path.endsWith('/codex/responses');
    const before = proxy.backend.requests.filter(isOther).length;
    for (const model of ['gpt-5.5', 'gpt-6.1-sol', 'gpt-5.5'])
      await proxy.post('/v1/responses', { model, input: 'Hello?' });
    expect(proxy.backend.modelRequests).toHaveLength(4);
    expect(proxy.backend.requests.filter(isOther).slice(before)).toEqual([]);
  });

  it.each(['gpt-5.5', 'gpt-6.1-sol'])(
    "contains nothing of codex, whatever the account's settings (%s)",
    async (model) => {
      proxy.backend.settings.attribution = true;
      proxy.backend.settings.settingsDelayMs = 3_000;
      const answered = await proxy.post('/v1/responses', { model, input: 'Hello?' });
      expect(outputText(answered)).toBe(HELLO);
      expect(proxy.backend.requests.map(({ path }) => path)).not.toContain('/backend-api/wham/settings/user');
      expect(proxy.backend.modelRequests.map(itemsSent)).toEqual([[message('user', 'Hello?')]]);
      expect(answered.headers.get('x-proxy-ignored-params')).toBe(null);
    },
  );

  it('names the codex version, and nothing about our proxying', async () => {
    await proxy.post(
      '/v1/responses',
      { model: 'gpt-6.1-sol', input: 'Hello?' },
      {
        'x-forwarded-for': '10.0.0.1',
        'cf-connecting-ip': '10.0.0.1',
        forwarded: 'for=10.0.0.1',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      },
    );
    const [request] = proxy.backend.modelRequests;
    expect(request?.headers['version']).toBe(findCodexBinary().version);
    expect(request?.headers['chatgpt-account-id']).toBe('acc-1');
    expect(request?.headers['traceparent']).toBeUndefined();
  });

  it('reports the use of limits to the client', async () => {
    for (const stream of [false, true]) {
      const { headers } = await proxy.post('/v1/responses', { model: 'gpt-5.5', stream, input: 'Hello?' });
      expect([
        headers.get('x-codex-primary-used-percent'),
        headers.get('x-codex-secondary-used-percent'),
        headers.get('x-codex-plan-type'),
      ]).toEqual(['42', '7', 'plus']);
      expect(headers.get('x-codex-turn-state')).toBe(null);
    }
  });

  it.each(['gpt-5.5', 'gpt-6.1-sol'])('omits what this service does not accept (%s)', async (model) => {
    const prompt_cache_breakpoint = { mode: 'explicit' };
    const answered = await proxy.post('/v1/responses', {
      model,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello?', prompt_cache_breakpoint }] }],
      temperature: 0.5,
      top_p: 0.5,
      max_output_tokens: 500,
      metadata: { a: 'b' },
      user: 'me',
      safety_identifier: 'me',
      truncation: 'disabled',
      prompt_cache_retention: '24h',
      service_tier: 'flex',
    });
    expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
    const ignored = answered.headers.get('x-proxy-ignored-params');
    expect(ignored).toContain('temperature');
    expect(ignored).toContain('prompt_cache_breakpoint');
  });

  it.each(['gpt-5.5', 'gpt-6.1-sol'])('sends %s an effort that it has, and says which', async (model) => {
    const { json } = await proxy.post('/v1/responses', {
      model,
      input: 'Hello?',
      reasoning: { effort: 'minimal' },
    });
    const sent = proxy.backend.modelRequests.at(-1)?.body['reasoning'] as { effort: string };
    expect(sent.effort).not.toBe('minimal');
    expect(json['reasoning']).toMatchObject({ effort: sent.effort });
    await proxy.post('/v1/responses', { model, input: 'Hello?', reasoning: { effort: 'high' } });
    expect(proxy.backend.modelRequests.at(-1)?.body['reasoning']).toMatchObject({ effort: 'high' });
  });

  it('may use the fast tier', async () => {
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?', service_tier: 'priority' });
    expect(proxy.backend.modelRequests.map(({ body }) => body['service_tier'])).toEqual(['priority']);
  });

  it('runs concurrently with others', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        proxy.post('/v1/responses', {
          model: index % 2 === 0 ? 'gpt-5.5' : 'gpt-6.1-sol',
          input: `Hello ${String(index)}?`,
        }),
      ),
    );
    expect(answers.map((answered) => outputText(answered))).toEqual(answers.map(() => HELLO));
  });
});
