import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { inTurn, says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { codeOf, itemsSent, outputText } from './proxy.ts';
import type { ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const ask = (tool: JsonObject, more: JsonObject = {}): JsonObject => ({
  model: 'gpt-6.1-sol',
  input: [{ role: 'user', content: 'Do it.' }],
  tools: [tool],
  ...more,
});

describe('a ChatGPT login', () => {
  it.each([
    ['web_search', 'web search'],
    ['web_search_preview', 'web search'],
    ['web_search_2025_08_26', 'web search'],
    ['image_generation', 'image'],
  ] as const)('runs %s in the Responses format, and recognises its items', async (type, name) => {
    const step = hostedStep(HOSTED_ITEMS[name]);
    proxy.backend.use(inTurn(says([step]), says([{ text: 'Done.' }])));
    const first = await proxy.post('/v1/responses', ask({ type, x: 1 }, { tool_choice: { type } }));
    expect([first.status, first.json['output'], first.json['tools']]).toEqual([
      200,
      [step.item],
      [{ type, x: 1 }],
    ]);
    const known = type.startsWith('web_search') ? 'web_search' : type;
    expect(proxy.backend.modelRequests[0]).toMatchObject({
      requestFormat: 'responses',
      body: { tools: [{ type: known, x: 1 }], tool_choice: { type: known } },
    });
    const input = [{ role: 'user', content: 'Do it.' }, step.item, { role: 'user', content: 'And?' }];
    const second = await proxy.post('/v1/responses', ask({ type }, { input }));
    expect(outputText(second)).toBe('Done.');
    expect(proxy.backend.modelRequests[1]?.body['input']).toContainEqual(step.item);
  });

  it('searches the web for chat clients, and cites the results', async () => {
    const citation = { url: 'https://example.org/', title: 'T', start_index: 0, end_index: 3 };
    proxy.backend.use(
      says([
        hostedStep(HOSTED_ITEMS['web search']),
        { text: 'Sun.', annotations: [{ type: 'url_citation', ...citation }] },
      ]),
    );
    const { json } = await proxy.post('/v1/chat/completions', {
      model: 'gpt-6.1-sol',
      messages: [{ role: 'user', content: 'The weather?' }],
      web_search_options: {
        search_context_size: 'low',
        user_location: { type: 'approximate', approximate: { city: 'Oslo', country: 'NO' } },
      },
    });
    expect(json['choices']).toMatchObject([
      {
        finish_reason: 'stop',
        message: { content: 'Sun.', annotations: [{ type: 'url_citation', url_citation: citation }] },
      },
    ]);
    expect(proxy.backend.modelRequests[0]?.body['tools']).toEqual([
      {
        type: 'web_search',
        search_context_size: 'low',
        user_location: { type: 'approximate', city: 'Oslo', country: 'NO' },
      },
    ]);
  });

  it.each(['file_search', 'code_interpreter', 'computer_use_preview', 'shell', 'local_shell', 'telepathy'])(
    'does not have %s, and reports it',
    async (type) => {
      const answered = await proxy.post('/v1/responses', ask({ type }));
      expect(codeOf(answered)).toBe('400 unsupported_tool');
      expect(answered.json['error']).toMatchObject({
        param: 'tools[0]',
        message: `Unsupported tool: 'tools[0]' is of type '${type}', which a ChatGPT login does not support.`,
      });
      expect(proxy.backend.modelRequests).toEqual([]);
    },
  );

  it('reads text files as text, and rejects others', async () => {
    const files = (file: JsonObject): JsonObject => ({
      model: 'gpt-5.5',
      input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a', ...file }] }],
    });
    await proxy.post('/v1/responses', files({ file_data: 'IyBI' }));
    expect(itemsSent(proxy.backend.modelRequests[0])[0]?.['content']).toEqual([
      { type: 'input_text', text: 'a:\n\n# H' },
    ]);
    const refused = await Promise.all(
      [{ file_data: 'data:application/pdf;base64,JVBERi0=' }, { file_id: 'file_1' }].map((file) =>
        proxy.post('/v1/responses', files(file)),
      ),
    );
    expect(refused.map(codeOf)).toEqual(['400 unsupported_file', '400 unsupported_file']);
    expect(refused[0]?.json['error']).toMatchObject({ param: 'input[0].content[0]' });
  });
});
