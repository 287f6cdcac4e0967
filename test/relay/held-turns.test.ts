import { describe, expect, it } from 'vitest';

import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import type { Item } from '../../src/canonical/request/item.ts';
import {
  appServerHeaders,
  completed,
  freshRelays,
  inTurn,
  parsed,
  PLACEHOLDER,
  TURN_ID,
  WHOLE,
  type Answer,
} from './backend.ts';

const start = freshRelays();

const tokenFor = (seconds: number): { readonly authorization: string } => ({
  authorization: `Bearer h.${Buffer.from(`{"exp":${seconds}}`).toString('base64url')}.s`,
});
/** The expiry of its token shows that a request is held. */
const EXPIRY = 1_800_000_000;
const isHeld = async (held: { readonly expiresAtMs: number | null }): Promise<void> => {
  await expect.poll(() => held.expiresAtMs).toBe(EXPIRY * 1000);
};
const metadata = (more: object): { readonly headers: Record<string, string> } => ({
  headers: {
    'x-codex-turn-metadata': JSON.stringify({ request_kind: 'turn', turn_id: TURN_ID, ...more }),
  },
});
const message = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
});
const foreign = message('developer', 'A summary.');
const placeholder = { type: 'message', id: PLACEHOLDER };
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' };
const output = { type: 'function_call_output', id: 'fco_9', call_id: 'call_1', output: '4' };
const said = { ...message('assistant', 'Let me see.'), id: 'msg_1' };

const answers =
  (...items: readonly object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const item of items) {
      const data = { type: 'response.output_item.done', output_index: 0, item };
      response.write(`event: response.output_item.done\ndata: ${JSON.stringify(data)}\n\n`);
    }
    response.end(
      'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1"}}\n\n',
    );
  };

describe('a held model request', () => {
  const items: readonly Item[] = [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }];
  const claimed = [
    { maxOutputTokens: 20, model: 'gpt-6', metadata: { a: 'b' } },
    true,
    {},
    { injected: { instructions: null, items } },
  ] as const;

  it("waits until its turn is claimed, and is sent once with the client's request", async () => {
    const { backend, hold, open, post, noted } = await start(completed);
    const { held, claim, losses } = hold('t1');
    held.started(TURN_ID);
    const tools = { type: 'additional_tools', tools: [] };
    const input = [tools, foreign, foreign, placeholder];
    const body = JSON.stringify({ model: 'gpt-5.5', stream: true, prompt_cache_key: 't1', input });
    const posted = post('t1', body, { headers: tokenFor(EXPIRY) });
    await isHeld(held);
    // Another turn is not held up.
    open('t2');
    expect((await post('t2', {})).status).toBe(200);
    expect(backend.arrivals).toHaveLength(1);
    const { events } = claim(...claimed);
    expect((await posted).status).toBe(200);
    expect(await (await posted).text()).toContain('response.completed');
    expect(backend.arrivals).toHaveLength(2);
    expect(parsed(backend.arrivals[1])).toEqual({
      model: 'gpt-6',
      stream: true,
      prompt_cache_key: 'id-of-conversation',
      max_output_tokens: 20,
      metadata: { a: 'b' },
      input: [tools, message('user', 'hi')],
    });
    expect(events).toEqual(WHOLE);
    expect(noted).toMatchObject({ lost: [], unplaced: 0, served: 2, added: [2] });
    expect(losses()).toBe(0);
  });

  it('is rejected if the turn is dropped, and so are later ones', async () => {
    const { backend, hold, post, noted } = await start(completed);
    const { held, losses } = hold('t1');
    held.started(TURN_ID);
    const posted = post('t1', {}, { headers: tokenFor(EXPIRY) });
    await isHeld(held);
    held.refuseFurtherRequests();
    expect([(await posted).status, await (await posted).text()]).toEqual([410, '']);
    expect((await post('t1', {})).status).toBe(410);
    expect(backend.arrivals).toEqual([]);
    expect(noted).toMatchObject({ lost: [], unplaced: 0, served: 0 });
    expect(losses()).toBe(0);
  });

  it('is forgotten if the app-server disconnects, and the next one is sent', async () => {
    const { backend, hold, post, noted } = await start(completed);
    const { held, claim, losses } = hold('t1');
    held.started(TURN_ID);
    const gone = new AbortController();
    const posted = post('t1', {}, { headers: tokenFor(EXPIRY), signal: gone.signal }).catch(() => 'gone');
    await isHeld(held);
    gone.abort();
    expect(await posted).toBe('gone');
    const next = post('t1', {}, { headers: tokenFor(EXPIRY + 1) });
    await expect.poll(() => held.expiresAtMs).toBe((EXPIRY + 1) * 1000);
    const budget = new ModelBudget(64);
    const { events } = claim({}, true, { budget });
    await (await next).text();
    expect(backend.arrivals).toHaveLength(1);
    expect(budget.used).toBe(1);
    expect(events).toEqual(WHOLE);
    expect(noted).toMatchObject({ lost: [], unplaced: 0 });
    expect(losses()).toBe(0);
  });

  it('has lost nothing if the turn is dropped before it has started', async () => {
    const { backend, hold, open, post, noted } = await start(completed);
    const { held, losses } = hold('t1');
    const posted = post('t1', {});
    // Whatever was possible before it has been done after this.
    open('t2');
    await (await post('t2', {})).text();
    held.refuseFurtherRequests();
    expect([(await posted).status, backend.arrivals.length]).toEqual([410, 1]);
    expect(noted).toMatchObject({ lost: [], unplaced: 0, served: 1 });
    expect(losses()).toBe(0);
  });

  it('tells when its token expires, and not that of a late one of another turn', async () => {
    const { open, post, noted } = await start(completed);
    const { held } = open('t1');
    await (await post('t1', {}, { headers: tokenFor(EXPIRY) })).text();
    const { headers } = metadata({ turn_id: 'turn-0' });
    expect((await post('t1', {}, { headers: { ...headers, ...tokenFor(1) } })).status).toBe(410);
    expect([held.expiresAtMs, noted.lost]).toEqual([EXPIRY * 1000, ['other-turn']]);
  });

  it('tells when its token expires, and nothing about a key', async () => {
    const { open, post } = await start(completed);
    const { held } = open('t1');
    expect(held.expiresAtMs).toBeNull();
    await (await post('t1', {}, { headers: tokenFor(EXPIRY) })).text();
    expect(held.expiresAtMs).toBe(EXPIRY * 1000);
    await (await post('t1', {}, { headers: { authorization: 'Bearer sk-1' } })).text();
    expect(held.expiresAtMs).toBeNull();
  });
});

describe("a model request that is not its turn's own", () => {
  const raw = (...input: readonly object[]): string => JSON.stringify({ model: 'gpt-5.5', input });

  it.each([
    ['other-kind', 'a compaction', raw(placeholder), metadata({ request_kind: 'compaction' })],
    ['other-kind', 'no metadata', raw(placeholder), { headers: { 'x-codex-turn-metadata': '' } }],
    ['no-placeholder', 'none', raw(foreign), {}],
    ['no-placeholder', 'that of another turn', raw({ ...placeholder, id: 'px_2' }), {}],
    ['no-placeholder', 'two', raw(placeholder, placeholder), {}],
    ['no-placeholder', 'half a body', '{"half":', {}],
    ['no-placeholder', 'no object', JSON.stringify([placeholder]), {}],
    ['foreign-item', 'a summary', raw(placeholder, foreign), {}],
    ['foreign-item', 'a text without parts', raw(placeholder, { ...foreign, content: 'A summary.' }), {}],
    ['foreign-item', 'a text of the user', raw(placeholder, message('user', 'Go.')), {}],
    ['foreign-item', 'an output without a call', raw(placeholder, output), {}],
  ])('is not sent, and ends the turn: %s, %s', async (reason, _, body, init) => {
    const { backend, hold, post, noted } = await start(completed);
    const { held, claim, losses } = hold('t1');
    held.started(TURN_ID);
    const budget = new ModelBudget(64);
    const { events, refused } = claim({}, true, { budget });
    const response = await post('t1', body, init);
    expect([response.status, await response.text()]).toEqual([410, '']);
    await expect.poll(losses).toBe(1);
    expect(noted).toMatchObject({ lost: [reason], unplaced: 0, served: 0 });
    expect([backend.arrivals, events, refused(), budget.used]).toEqual([[], [], null, 0]);
  });

  it.each(['turn', 'compaction'])('is not sent at another path either: %s', async (kind) => {
    const { relay, backend, hold, noted } = await start(completed);
    const { held, claim, losses } = hold('t1');
    held.started(TURN_ID);
    claim();
    const response = await fetch(`${relay.addresses.model}/responses/compact`, {
      method: 'POST',
      body: raw(placeholder),
      headers: { ...appServerHeaders('t1'), ...metadata({ request_kind: kind }).headers },
    });
    expect([response.status, backend.arrivals, losses()]).toEqual([410, [], 0]);
    expect(noted).toMatchObject({ lost: [], unplaced: 1 });
  });

  it('is not sent after its answers either', async () => {
    const { backend, open, post, noted } = await start(answers(said, call));
    open('t1');
    await (await post('t1', {})).text();
    expect((await post('t1', { input: [said, call, output, foreign] })).status).toBe(410);
    expect((await post('t1', { input: [said, call, { ...output, call_id: 'call_0' }] })).status).toBe(410);
    expect((await post('t1', { input: [said, call, message('user', 'Go.')] })).status).toBe(410);
    expect(noted.lost).toEqual(['foreign-item', 'foreign-item', 'foreign-item']);
    expect(backend.arrivals).toHaveLength(1);
  });
});

describe("a model request with its turn's own items", () => {
  it('is sent: answers, and outputs of their calls', async () => {
    const { backend, open, post, noted } = await start(inTurn(answers(said, call), completed));
    open('t1');
    await (await post('t1', {})).text();
    const own = [said, call, output];
    expect((await post('t1', { input: own })).status).toBe(200);
    expect(parsed(backend.arrivals[1])['input']).toEqual(own);
    expect(noted.lost).toEqual([]);
  });
});

describe('a thread that is used again', () => {
  it('does not send a late request of its earlier turn', async () => {
    const { backend, hold, open, post, noted } = await start(completed);
    const first = open('t1', { metadata: { nth: '1' } });
    await (await post('t1', {})).text();
    const second = hold('t1', { placeholder: 'px_2', isFirstOfThread: false });
    // Only the second one is left now.
    first.relayTurn.close();
    const late = post('t1', {});
    second.held.started('turn-2');
    expect((await late).status).toBe(410);
    const { events } = second.claim({ metadata: { nth: '2' } });
    expect((await post('t1', {})).status).toBe(410);
    expect(noted.lost).toEqual(['other-turn', 'other-turn']);
    expect(backend.arrivals).toHaveLength(1);
    const own = { model: 'gpt-5.5', input: [placeholder, said, { ...placeholder, id: 'px_2' }] };
    const response = await post('t1', JSON.stringify(own), metadata({ turn_id: 'turn-2' }));
    expect(response.status).toBe(200);
    await response.text();
    expect(backend.arrivals.map((one) => parsed(one)['metadata'])).toEqual([{ nth: '1' }, { nth: '2' }]);
    expect(parsed(backend.arrivals[1])['input']).toEqual([]);
    expect([events, second.losses(), first.events]).toEqual([WHOLE, 0, WHOLE]);
    expect(noted.added).toEqual([]);
  });
});
