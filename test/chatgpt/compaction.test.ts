import { describe, expect, it } from 'vitest';

import { summaryMessage } from '../../src/canonical/request/compaction.ts';
import { wrapSummary } from '../../src/openai/responses/wrapped-summary.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, outputText } from './proxy.ts';
import type { ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const SEALED = { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed' };
const CONVERSATION: readonly JsonObject[] = [
  { role: 'user', content: 'Make tea.' },
  { role: 'assistant', content: 'The kettle is on.' },
];
const TRIGGER = { type: 'compaction_trigger' };
const formats = [
  ['responses', 'gpt-5.5'],
  ['codex', 'gpt-6.1-sol'],
] as const;

describe.each(formats)('in the %s request format', (requestFormat, model) => {
  it('a conversation is compacted by the service and continues from there', async () => {
    proxy.backend.use(inTurn(says([{ item: SEALED }]), says([{ item: SEALED }]), hello));
    const compacted = await proxy.post('/v1/responses/compact', { model, input: CONVERSATION });
    expect(compacted.json['output']).toMatchObject([{ role: 'user' }, SEALED]);
    const asked = await proxy.post('/v1/responses', {
      model,
      stream: true,
      input: [...CONVERSATION, TRIGGER],
    });
    expect(asked.json['output']).toEqual([SEALED]);
    const input = [...(compacted.json['output'] as readonly JsonObject[]), { role: 'user', content: 'Now?' }];
    expect(outputText(await proxy.post('/v1/responses', { model, input }))).toBe(
      'Hello from the scripted model.',
    );
    const sent = proxy.backend.modelRequests;
    expect(sent.map((request) => request.requestFormat)).toEqual([
      requestFormat,
      requestFormat,
      requestFormat,
    ]);
    expect(sent.map((request) => itemsSent(request).at(-1))).toMatchObject([
      TRIGGER,
      TRIGGER,
      { role: 'user' },
    ]);
    expect(itemsSent(sent.at(-1)).at(-2)).toEqual({ type: 'compaction', encrypted_content: 'sealed' });
  });

  it('a summary of another backend is sent as text', async () => {
    const own = { type: 'compaction', id: 'cmp_2', encrypted_content: wrapSummary('Tea is wanted.') };
    await proxy.post('/v1/responses', { model, input: [own, { role: 'user', content: 'Now?' }] });
    const [part] = summaryMessage({ kind: 'compaction', summary: 'Tea is wanted.' }).parts;
    expect(itemsSent(proxy.backend.modelRequests.at(-1)).at(-2)).toEqual({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: part?.kind === 'text' ? part.text : '' }],
    });
  });

  it('context_management is not sent to the service, which rejects it', async () => {
    const context_management = [{ type: 'compaction', compact_threshold: 1000 }];
    const answered = await proxy.post('/v1/responses', { model, input: 'Hello?', context_management });
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-proxy-ignored-params')).toBe('context_management');
  });
});
