import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { itemsOf } from '../clients/rounds.ts';
import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { openProxy } from '../support/open-proxy.ts';
import { expectMatchesSchema } from '../support/schema.ts';
import {
  cutMidStream,
  hello,
  incompleteMaxTokens,
  noOutput,
  reasoningThenText,
  refusal,
  says,
  sureOfItself,
} from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';

/** `GET` gives the object that the creating request gave, to the byte. */

const proxy = await openProxy(hello);

const look = { type: 'function', name: 'look', parameters: { type: 'object' } };
const note = { type: 'custom', name: 'note' };
const ASK = { model: 'gpt-5.5', input: 'go', tools: [look, note], metadata: { topic: 'demo' } };

const mixed = says([
  { reasoning: { summary: ['Hm.'], encrypted: 'sealed', content: ['Raw.'] } },
  { text: 'Let me see.', phase: 'commentary' },
  { call: { name: 'look', arguments: { q: 1 }, callId: 'call_1' } },
  { text: 'One.', phase: 'final_answer' },
  { call: { name: 'note', tool: 'custom', arguments: 'free text', callId: 'call_2' } },
]);

const SCRIPTS: Readonly<Record<string, Script>> = {
  text: hello,
  'reasoning, text and calls': mixed,
  reasoning: reasoningThenText,
  'a refusal': refusal,
  'an incomplete answer': incompleteMaxTokens,
  'no output': noOutput,
  'log probabilities': sureOfItself,
  'hosted calls': says([...Object.values(HOSTED_ITEMS).map(hostedStep), { text: 'Done.' }]),
};

/** Answers that fail after the first event; sent whole, they are HTTP errors. */
const FAILURES: Readonly<Record<string, Script>> = {
  'a failed answer': says([{ text: 'Half an' }, { fail: { code: 'server_error', message: 'An accident.' } }]),
  'an answer that was cut off': cutMidStream,
};

const FORMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  natural: {},
  'message-first': { 'x-proxy-output-layout': 'message-first' },
  'obsidian-xml': { 'x-proxy-output-mode': 'obsidian-xml' },
};

const INCLUDES = [[], ['reasoning.encrypted_content', 'message.output_text.logprobs']] as const;

/** The text of the response object that the creating request gave. */
const created = async (body: JsonObject, headers: Readonly<Record<string, string>>): Promise<string> => {
  const response = await proxy.post('/v1/responses', { ...ASK, ...body }, { headers });
  expect(response.status).toBe(200);
  if (body['stream'] !== true) return response.text();
  const last = eventsOf(await collectSse(response)).at(-1);
  return JSON.stringify(last?.['response']);
};

const idOf = (text: string): string => {
  const object: unknown = JSON.parse(text);
  return isJsonObject(object) && typeof object['id'] === 'string' ? object['id'] : '';
};

const retrieved = async (id: string, include: readonly string[]): Promise<string> => {
  const response = await proxy.get(
    `/v1/responses/${id}?${include.map((one) => `include[]=${one}`).join('&')}`,
  );
  expect(response.status).toBe(200);
  return response.text();
};

describe.each(Object.entries(FORMS))('a stored response, %s', (_form, headers) => {
  describe.each([false, true])('(stream: %s)', (stream) => {
    it.each(Object.entries(SCRIPTS))('is the object that was given: %s', async (_, script) => {
      proxy.use(script);
      for (const include of INCLUDES) {
        const given = await created({ stream, include }, headers);
        expect(await retrieved(idOf(given), include)).toBe(given);
        expectMatchesSchema('Response', JSON.parse(given));
      }
    });
  });

  it.each(Object.entries(FAILURES))('is the object that was given: %s', async (_, script) => {
    proxy.use(script);
    const given = await created({ stream: true }, headers);
    expect(JSON.parse(given)).toMatchObject({ status: 'failed' });
    expect(await retrieved(idOf(given), [])).toBe(given);
  });
});

describe('include', () => {
  const pick = (text: string): unknown => (JSON.parse(text) as { output: unknown[] }).output[0];

  it('shows what the creating request did not ask for', async () => {
    proxy.use(mixed);
    const id = idOf(await created({}, {}));
    expect(pick(await retrieved(id, []))).not.toHaveProperty('encrypted_content');
    expect(pick(await retrieved(id, ['reasoning.encrypted_content']))).toMatchObject({
      encrypted_content: 'sealed',
    });
  });

  it('hides what only the creating request asked for', async () => {
    const include = ['web_search_call.action.sources', 'reasoning.encrypted_content'];
    proxy.use(says([hostedStep(HOSTED_ITEMS['web search']), { text: 'Done.' }]));
    const id = idOf(await created({ include }, {}));
    expect(pick(await retrieved(id, include))).toMatchObject({ action: { sources: [{}] } });
    expect(pick(await retrieved(id, []))).toMatchObject({ action: { query: 'q' } });
    expect(pick(await retrieved(id, []))).not.toHaveProperty('action.sources');
  });
});

it('keeps what the model wrote, in its order, whatever the client saw', async () => {
  proxy.use(mixed);
  const given = await created({}, FORMS['message-first'] ?? {});
  expect((JSON.parse(given) as { output: { type: string }[] }).output.map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'custom_tool_call',
  ]);
  proxy.use(hello);
  const next = await proxy.post('/v1/responses', {
    model: 'gpt-5.5',
    previous_response_id: idOf(given),
    input: [
      { type: 'function_call_output', call_id: 'call_1', output: '1' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: '2' },
    ],
  });
  expect(next.status).toBe(200);
  const sent = itemsOf(proxy.model.requests.at(-1)?.body ?? {});
  expect(sent.map(({ type, role }) => role ?? type)).toEqual([
    'user',
    'reasoning',
    'assistant',
    'function_call',
    'assistant',
    'custom_tool_call',
    'function_call_output',
    'custom_tool_call_output',
  ]);
});
