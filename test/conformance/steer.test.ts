import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, HELLO_USAGE, inTurn, says } from '../support/scripts.ts';
import { objectsIn, sentBody } from './responses-sent.ts';

const OTHER_KEY = 'sk-other-key-0123456789';
const KEYS = { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` };

const THOUGHT: ScriptStep = { reasoning: { summary: ['**Counting**'], encrypted: 'sealed', id: 'rs_1' } };
const WHOLE: ScriptStep = { text: 'I count.', phase: 'commentary' };
/** Writes commentary, starts a text, and never ends it. */
const counts: Script = says([THOUGHT, WHOLE, { text: 'One, two, three', end: 'open' }, { hang: true }]);
const inFrench: Script = says([{ text: 'Un, deux, trois.' }], { usage: HELLO_USAGE });

type Stream = ReturnType<OpenAI['responses']['stream']>;
type Input = OpenAI.Responses.ResponseInput;

const INPUT: Input = [{ role: 'user', content: 'Count.' }];
const STEER = 'In French, please.';

/** A stream that has reached the text that does not end. */
const begun = async (openai: OpenAI, more: object = {}): Promise<{ stream: Stream; id: string }> => {
  const stream = openai.responses.stream({ model: 'gpt-5.5', input: INPUT, ...more });
  const id = Promise.withResolvers<string>();
  stream.on('response.created', ({ response }) => id.resolve(response.id));
  await new Promise<void>((resolve, reject) => {
    stream.on('response.output_text.delta', ({ snapshot }) => {
      if (snapshot.includes('three')) resolve();
    });
    stream.on('error', reject);
  });
  return { stream, id: await id.promise };
};

const steer = (at: TestProxy, id: string, key = at.key): Promise<Response> =>
  at.post(
    `/v1/responses/${id}/steer`,
    { input: [{ role: 'user', content: STEER }] },
    { headers: { authorization: `Bearer ${key}` } },
  );

const codeOf = async (answer: Response): Promise<string> => {
  const { error } = (await answer.json()) as { error: { code: string } };
  return `${answer.status} ${error.code}`;
};

/** The model's input, without ids. */
const inputOf = (at: TestProxy): unknown =>
  objectsIn(sentBody(at.model)['input']).map(({ id: _id, status: _status, ...item }) => item);

const texts = (response: OpenAI.Responses.Response): unknown =>
  response.output.map((item) =>
    item.type === 'message'
      ? [
          item.status,
          item.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join(''),
        ]
      : item.type,
  );

const [relayed, plain] = await Promise.all([
  openProxy(hello, KEYS),
  openProxy(hello, { ...KEYS, PROXY_WIRE: 'off' }),
]);

describe.each([
  ['with the relay', relayed],
  ['without it', plain],
])('steering %s', (_, proxy) => {
  it('interrupts the model, and continues in the same stream', async () => {
    proxy.use(inTurn(counts, inFrench));
    const { stream, id } = await begun(proxy.openai, { include: ['reasoning.encrypted_content'] });
    const answer = await steer(proxy, id);
    expect([answer.status, await answer.json()]).toEqual([
      202,
      { id, object: 'response.steer', status: 'accepted' },
    ]);
    const response = await stream.finalResponse();
    expect([response.id, response.status, texts(response)]).toEqual([
      id,
      'completed',
      [
        'reasoning',
        ['completed', 'I count.'],
        ['incomplete', 'One, two, three'],
        ['completed', 'Un, deux, trois.'],
      ],
    ]);
    // What was interrupted is counted here, and the rest was reported.
    expect(response.usage?.output_tokens).toBeGreaterThan(HELLO_USAGE.outputTokens + 5);
    expect(inputOf(proxy)).toMatchObject([
      { role: 'user', content: [{ type: 'input_text', text: 'Count.' }] },
      { type: 'reasoning', encrypted_content: 'sealed' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'I count.' }] },
      { role: 'user', content: [{ type: 'input_text', text: STEER }] },
    ]);
    expect(await codeOf(await steer(proxy, id))).toBe('404 response_not_found');
  });

  it('works for a stream in the background', async () => {
    proxy.use(inTurn(counts, inFrench));
    const { stream, id } = await begun(proxy.openai, { background: true });
    expect((await steer(proxy, id)).status).toBe(202);
    const response = await stream.finalResponse();
    expect([response.background, texts(response)]).toEqual([
      true,
      [
        'reasoning',
        ['completed', 'I count.'],
        ['incomplete', 'One, two, three'],
        ['completed', 'Un, deux, trois.'],
      ],
    ]);
    expect(texts(await proxy.openai.responses.retrieve(id))).toEqual(texts(response));
  });

  it('needs the caller of the stream, and a model that can be interrupted', async () => {
    proxy.use(says([{ text: 'One, two, three', end: 'open' }, { hang: true }]));
    const { stream, id } = await begun(proxy.openai);
    expect(await codeOf(await steer(proxy, id, OTHER_KEY))).toBe('404 response_not_found');
    expect(await codeOf(await proxy.post(`/v1/responses/${id}/steer`, { input: 7 }))).toBe(
      '400 invalid_type',
    );
    // Each steering input interrupts the one before it.
    proxy.use(inTurn(says([{ text: 'Uno', end: 'open' }, { hang: true }]), inFrench));
    expect((await steer(proxy, id)).status).toBe(202);
    await new Promise<void>((resolve) => {
      stream.on('response.output_text.delta', ({ snapshot }) => snapshot === 'Uno' && resolve());
    });
    expect((await steer(proxy, id)).status).toBe(202);
    expect(texts(await stream.finalResponse())).toEqual([
      ['incomplete', 'One, two, three'],
      ['incomplete', 'Uno'],
      ['completed', 'Un, deux, trois.'],
    ]);
    const user = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] });
    expect(inputOf(proxy)).toMatchObject([user('Count.'), user(STEER), user(STEER)]);
  });
});

describe('steering', () => {
  it('asks the model no more often than PROXY_MAX_MODEL_REQUESTS', async () => {
    const limited = await openProxy(counts, { ...KEYS, PROXY_MAX_MODEL_REQUESTS: '2' });
    const { stream, id } = await begun(limited.openai);
    expect((await steer(limited, id)).status).toBe(202);
    await expect.poll(() => limited.model.requests.length).toBe(2);
    expect(await codeOf(await steer(limited, id))).toBe('409 response_not_steerable');
    stream.abort();
    await expect(stream.done()).rejects.toThrow('aborted');
    expect(limited.model.requests).toHaveLength(2);
  });

  it('does not reach a model that is calling a tool', async () => {
    const call: ScriptStep = { call: { name: 'count', arguments: '{"to":', callId: 'call_1' }, end: 'open' };
    relayed.use(says([{ text: 'One, two, three' }, call, { hang: true }]));
    const tools = [{ type: 'function', name: 'count', parameters: { type: 'object' }, strict: false }];
    const { stream, id } = await begun(relayed.openai, { tools });
    const called = new Promise((resolve) => {
      stream.on('response.function_call_arguments.delta', resolve);
    });
    await called;
    expect(await codeOf(await steer(relayed, id))).toBe('409 response_not_steerable');
    stream.abort();
    await expect(stream.done()).rejects.toThrow('aborted');
    await expect.poll(async () => codeOf(await steer(relayed, id))).toBe('404 response_not_found');
    expect(await codeOf(await steer(relayed, 'resp_unknown'))).toBe('404 response_not_found');
  });
});
