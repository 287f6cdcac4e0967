import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, type Answered, type ChatGptProxy } from './proxy.ts';
import type { ModelRequest } from './recorded.ts';

/** The login is replaced by that of another account while conversations go on. */

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const A = 'acc-1';
const B = 'acc-2';
const MODELS = ['gpt-5.5', 'gpt-6.1-sol'];

let thoughts = 0;
/** Thinks in a way that only the account of the request can read. */
const thinks: Script = (request, connection) => {
  thoughts += 1;
  const encrypted = `thought-${String(thoughts)}-of-${String(request.headers['chatgpt-account-id'])}`;
  return says([{ reasoning: { summary: [], encrypted } }, { text: 'Answer.' }])(request, connection);
};

let signedIn = A;
const signIn = async (accountId: string): Promise<void> => {
  if (signedIn === accountId) return;
  signedIn = accountId;
  const switches = (): number => proxy.log.filter(({ msg }) => msg === 'switched to another backend').length;
  const before = switches();
  await proxy.backend.writeLogin(proxy.home, { accountId });
  await expect.poll(switches, { timeout: 30_000 }).toBe(before + 1);
};

const thoughtsSent = (request: ModelRequest | undefined): readonly (Json | undefined)[] =>
  itemsSent(request).flatMap(({ type, encrypted_content: text }) => (type === 'reasoning' ? [text] : []));

/** One turn: the answer, the model requests for it, and whose thoughts they contain. */
const turn = async (run: () => Promise<Answered>) => {
  const before = proxy.backend.modelRequests.length;
  proxy.backend.use(thinks);
  const answered = await run();
  const requests = proxy.backend.modelRequests.slice(before);
  const [request] = requests;
  return {
    answered,
    /** The status, then the thoughts in each model request. */
    seen: [answered.status, ...requests.map(thoughtsSent)],
    by: request?.headers['chatgpt-account-id'],
    ids: idsOf(request),
  };
};

const idsOf = (request: ModelRequest | undefined): Readonly<Record<string, unknown>> => {
  const metadata = (request?.body['client_metadata'] ?? {}) as JsonObject;
  return {
    cacheKey: request?.body['prompt_cache_key'],
    session: request?.headers['session-id'],
    thread: request?.headers['thread-id'],
    installation: metadata['x-codex-installation-id'],
  };
};

const user = (content: string): JsonObject => ({ role: 'user', content });
const imported: readonly JsonObject[] = [
  user('Hello?'),
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of unknown origin' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
  user('And?'),
];

const itemsOf = ({ answered }: { readonly answered: Answered }): readonly JsonObject[] =>
  answered.json['output'] as JsonObject[];

/** The response once it has ended, which may be in the background. */
const completed = async (body: JsonObject): Promise<Answered> => {
  let answered = await proxy.post('/v1/responses', body);
  const status = async (): Promise<unknown> => {
    answered = await proxy.get(`/v1/responses/${answered.json['id'] as string}`);
    return answered.json['status'];
  };
  await expect.poll(status, { timeout: 30_000 }).toBe('completed');
  return answered;
};

const newestThought = (account: string): string => `thought-${String(thoughts)}-of-${account}`;

describe('a stored conversation', () => {
  it.each(MODELS)(
    'goes on at another account, with one request for each turn and without the reasoning of the first (%s)',
    async (model) => {
      await signIn(A);
      const { json: conversation } = await proxy.post('/v1/conversations', {});
      const ask = (stream = false) =>
        turn(() =>
          proxy.post('/v1/responses', {
            model,
            conversation: conversation['id'] ?? '',
            input: 'Go on.',
            stream,
          }),
        );
      const first = await ask();
      const ofA = [newestThought(A)];
      expect([first.by, first.seen]).toEqual([A, [200, []]]);
      expect((await ask()).seen).toEqual([200, ofA]);
      ofA.push(newestThought(A));

      await signIn(B);
      const moved = await ask();
      const ofB = [newestThought(B)];
      expect([moved.by, moved.seen]).toEqual([B, [200, []]]);
      expect(moved.answered.headers.get('x-proxy-ignored-params')).toBeNull();
      const later = await ask(true);
      expect(later.seen).toEqual([200, ofB]);
      ofB.push(newestThought(B));

      // Nothing links the accounts, and each keeps its ids.
      expect(later.ids).toEqual(moved.ids);
      const shared = Object.keys(first.ids).filter((name) => first.ids[name] === moved.ids[name]);
      expect([shared, Object.values(moved.ids).map((id) => typeof id)]).toEqual([
        [],
        Array(4).fill('string'),
      ]);

      await proxy.restart();
      const restarted = await ask();
      expect([restarted.by, restarted.seen, restarted.ids]).toEqual([B, [200, ofB], moved.ids]);

      await signIn(A);
      const back = await ask();
      expect([back.by, back.seen, back.ids]).toEqual([A, [200, ofA], first.ids]);
    },
  );

  it('goes on by previous_response_id, by item_reference, and in the background', async () => {
    await signIn(A);
    const ask = (more: JsonObject) => turn(() => completed({ model: 'gpt-5.5', input: 'Go on.', ...more }));
    const first = await ask({});
    const ofA = newestThought(A);
    const refer = itemsOf(first).map(({ id = null }) => ({ type: 'item_reference', id }));
    const referring = { input: [user('Go on.'), ...refer, user('And?')] };
    expect((await ask(referring)).seen).toEqual([200, [ofA]]);

    await signIn(B);
    expect((await ask(referring)).seen).toEqual([200, []]);
    const moved = await ask({ previous_response_id: first.answered.json['id'] ?? null, background: true });
    const ofB = newestThought(B);
    expect(moved.seen).toEqual([200, []]);
    const next = { previous_response_id: moved.answered.json['id'] ?? null };
    expect((await ask(next)).seen).toEqual([200, [ofB]]);
    await proxy.restart();
    expect((await ask({ ...next, background: true })).seen).toEqual([200, [ofB]]);
  });

  it('has reasoning of unknown origin, which is tried once', async () => {
    await signIn(B);
    const { json: conversation } = await proxy.post('/v1/conversations', { items: imported });
    const ask = () =>
      turn(() =>
        proxy.post('/v1/responses', {
          model: 'gpt-5.5',
          conversation: conversation['id'] ?? '',
          input: 'Go on.',
        }),
      );
    expect((await ask()).seen).toEqual([200, ['of unknown origin'], []]);
    const ofB = newestThought(B);
    expect((await ask()).seen).toEqual([200, [ofB]]);
  });
});

describe('a conversation that its client keeps', () => {
  it.each(MODELS)('loses the reasoning of another account, which is reported (%s)', async (model) => {
    await signIn(A);
    const input: JsonObject[] = [user('Hello?')];
    const ask = async () => {
      const asked = await turn(() =>
        proxy.post('/v1/responses', {
          model,
          input,
          store: false,
          include: ['reasoning.encrypted_content'],
        }),
      );
      input.push(...itemsOf(asked), user('And?'));
      return asked;
    };
    await ask();
    const ofA = newestThought(A);
    expect((await ask()).seen).toEqual([200, [ofA]]);
    await signIn(B);
    const moved = await ask();
    const ofB = newestThought(B);
    expect(moved.seen).toEqual([200, []]);
    expect(moved.answered.headers.get('x-proxy-ignored-params')).toBe('input[1], input[4]');
    expect((await ask()).seen).toEqual([200, [ofB]]);
  });

  it('of unknown origin is tried once', async () => {
    await signIn(B);
    const input = [...imported];
    input[1] = { ...input[1], encrypted_content: 'of another unknown origin' };
    const ask = () => turn(() => proxy.post('/v1/responses', { model: 'gpt-5.5', input, store: false }));
    const [first, second] = [await ask(), await ask()];
    expect(first.seen).toEqual([200, ['of another unknown origin'], []]);
    expect(second.seen).toEqual([200, []]);
    for (const { answered } of [first, second])
      expect(answered.headers.get('x-proxy-ignored-params')).toBe('input[1]');
  });

  it('goes on in Messages, without the thinking of the first account', async () => {
    await signIn(A);
    const messages: JsonObject[] = [user('Hello?')];
    const ask = async () => {
      const asked = await turn(() =>
        proxy.post('/v1/messages', {
          model: 'gpt-5.5',
          max_tokens: 4_096,
          thinking: { type: 'enabled', budget_tokens: 2_048 },
          messages,
        }),
      );
      messages.push({ role: 'assistant', content: asked.answered.json['content'] ?? null }, user('And?'));
      return asked.seen;
    };
    await ask();
    const ofA = newestThought(A);
    expect(await ask()).toEqual([200, [ofA]]);
    await signIn(B);
    expect(await ask()).toEqual([200, []]);
    const ofB = newestThought(B);
    expect(await ask()).toEqual([200, [ofB]]);
    await signIn(A);
    expect(await ask()).toEqual([200, [ofA, expect.stringMatching(/of-acc-1$/)]]);
  });
});
