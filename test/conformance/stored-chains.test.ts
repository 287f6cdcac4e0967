import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ScriptStep } from '../../src/demo/script-step.ts';
import { objectsIn, textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { itemsOf } from '../clients/rounds.ts';
import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { runs } from '../support/runs.ts';
import { hello, says } from '../support/scripts.ts';

/**
 * A follow-up by `previous_response_id` makes the same model request, to the byte, as sending the whole conversation. So
 * the answer is the same, and so is the part of it that the backend has in its prompt cache.
 */
const PROXIES = {
  'from memory': await openProxy(hello),
  'from the store': await openProxy(hello, { PROXY_ITEM_MEMORY_MB: '0' }),
};

const MODEL = 'gpt-5.5';
const TOOLS = [
  { type: 'function', name: 'look', parameters: { type: 'object' } },
  { type: 'custom', name: 'note' },
];
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const ENCRYPTED = 'include[]=reasoning.encrypted_content';

const text = fc.constantFrom('Hm.', '😀 \u2028', '{"half": ', 'two\n\nlines');

const steps: fc.Arbitrary<readonly ScriptStep[]> = fc.array(
  fc.oneof(
    text.map((value) => ({ text: value })),
    text.map((value) => ({ text: value, phase: 'commentary' as const })),
    fc.constant({
      text: 'Cited.',
      annotations: [{ type: 'url_citation', url: 'https://a.b/', title: 't', start_index: 0, end_index: 1 }],
    }),
    text.map((value) => ({ refusal: value })),
    text.map((value) => ({ reasoning: { summary: [value], encrypted: `sealed ${value}` } })),
    fc.constant({ reasoning: { summary: [], encrypted: 'sealed' } }),
    text.map((value) => ({ call: { name: 'look', arguments: { value } } })),
    text.map((value) => ({ call: { name: 'note', tool: 'custom' as const, arguments: value } })),
    fc.constantFrom(HOSTED_ITEMS['web search'], HOSTED_ITEMS.image).map(hostedStep),
  ),
  { minLength: 1, maxLength: 5 },
);

const FIRST = { role: 'user', content: 'Begin.' };

const question: fc.Arbitrary<JsonObject> = fc.oneof(
  text.map((value) => ({ role: 'user', content: value })),
  text.map((value) => ({
    type: 'message',
    role: 'developer',
    content: [{ type: 'input_text', text: value }],
  })),
  fc.constant({ role: 'user', content: [{ type: 'input_image', image_url: PNG, detail: 'high' }] }),
);

/** For each turn: how far back it forks, what is asked, and what the model answers. */
const turns = fc.array(fc.record({ back: fc.constantFrom(0, 0, 0, 1, 2), question, steps }), {
  minLength: 2,
  maxLength: 6,
});

interface Answered {
  readonly id: string;
  /** Everything up to here, as a client would send it. */
  readonly history: readonly JsonObject[];
}

const post = async (proxy: TestProxy, body: JsonObject): Promise<string> => {
  const response = await proxy.post('/v1/responses', { model: MODEL, tools: TOOLS, ...body });
  const object = (await response.json()) as JsonObject;
  expect([response.status, object['error']]).toEqual([200, null]);
  return textIn(object, 'id');
};

const lastRequest = (proxy: TestProxy): string => JSON.stringify(proxy.model.requests.at(-1)?.body);

/** The outputs for the calls that the answer ends with. */
const outputsFor = (history: readonly JsonObject[]): readonly JsonObject[] => {
  const answered = new Set(
    history.filter(({ output }) => output !== undefined).map((item) => item['call_id']),
  );
  const isOpenCall = (item: JsonObject): boolean =>
    /^(?:function|custom_tool)_call$/.test(textIn(item, 'type')) && !answered.has(item['call_id']);
  return history.filter(isOpenCall).map((item) => ({
    type: `${textIn(item, 'type')}_output`,
    call_id: textIn(item, 'call_id'),
    output: 'done',
  }));
};

/** Asks by `previous_response_id`, then sends the same conversation whole, and compares what the model got. */
const ask = async (proxy: TestProxy, before: Answered | undefined, own: JsonObject): Promise<Answered> => {
  const history = before?.history ?? [];
  // Without a message of the user, a client's own history has no key for the prompt cache yet.
  const input = [...(before === undefined ? [FIRST] : outputsFor(history)), own];
  const id = await post(proxy, {
    input,
    ...(before === undefined ? {} : { previous_response_id: before.id }),
  });
  const asked = lastRequest(proxy);
  await post(proxy, { input: [...history, ...input], store: false });
  expect(lastRequest(proxy)).toBe(asked);
  const stored = (await (await proxy.get(`/v1/responses/${id}?${ENCRYPTED}`)).json()) as JsonObject;
  return { id, history: [...history, ...input, ...objectsIn(stored, 'output')] };
};

describe.each(Object.entries(PROXIES))('a stored conversation, %s', (_, proxy) => {
  it('is sent as if its client had sent it, also after forks', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (plan) => {
        const answers: Answered[] = [];
        for (const turn of plan) {
          proxy.use(says(turn.steps));
          answers.push(await ask(proxy, answers[answers.length - 1 - turn.back], turn.question));
        }
        expect(answers).toHaveLength(plan.length);
      }),
      { numRuns: runs(4) },
    );
  });
});

describe('a long stored conversation', () => {
  // From memory it is the same work with fewer reads.
  const proxy = PROXIES['from the store'];

  it('has 200 turns', async () => {
    proxy.use(hello);
    let id: string | null = null;
    for (let turn = 0; turn < 200; turn += 1) {
      id = await post(proxy, { input: `turn ${turn}`, previous_response_id: id });
    }
    const sent = itemsOf(proxy.model.requests.at(-1)?.body ?? {});
    expect(sent).toHaveLength(399);
    const asked = lastRequest(proxy);
    await post(proxy, { input: sent, store: false });
    expect(lastRequest(proxy)).toBe(asked);
  });
});
