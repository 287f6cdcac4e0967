import { describe, expect, it } from 'vitest';

import { functionTool, turnContext, turnOf, type Different } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { Refusals } from '../../codex/capabilities/refusals.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import { RequestStrategies, type RequestStrategiesOptions } from './request-strategies.ts';

const formats = {
  setting: 'auto',
  usesCodexFormat: (model: string) => model === 'sol',
  responsesSlug: (model: string) => `${model}--full`,
} as const;
const clock = { now: () => 0 };
const strategies = (different: Partial<RequestStrategiesOptions> = {}): RequestStrategies =>
  new RequestStrategies({
    formats,
    hasRelay: true,
    refusals: new Refusals(different.clock ?? clock),
    clock,
    onLearnt() {},
    ...different,
  });

const CODEX: RequestStrategy = {
  requestFormat: 'codex',
  slug: 'sol',
  instructions: 'message',
  reasoning: 'kept',
  customTools: 'native',
  namespaces: 'kept',
};
const RESPONSES: RequestStrategy = {
  requestFormat: 'responses',
  slug: 'sol--full',
  instructions: 'field',
  reasoning: 'kept',
  customTools: 'native',
  namespaces: 'kept',
};
const tool = functionTool('f');
const image = (detail: 'auto' | 'high') => ({
  kind: 'message' as const,
  role: 'user' as const,
  parts: [{ kind: 'image' as const, url: 'data:', detail }],
});
const sol = (different: Different = {}): Turn => turnOf({ model: 'sol', ...different });
const refusal = (message: string, code?: string) =>
  failure('invalid_prompt', code === undefined ? { message } : { message, code });

describe('the first approach', () => {
  it.each([
    ['a lite model', sol(), CODEX],
    [
      'a model that codex sends in the Responses format',
      sol({ model: 'other' }),
      { ...RESPONSES, slug: 'other' },
    ],
    ['tools alone', sol({ tools: [tool] }), CODEX],
    ['a forced choice', sol({ tools: [tool], toolChoice: { mode: 'required' } }), RESPONSES],
    ['no call at all', sol({ tools: [tool], toolChoice: { mode: 'none' } }), RESPONSES],
    ['several calls at once', sol({ tools: [tool], parallelToolCalls: true }), RESPONSES],
    ['a choice among no tools', sol({ parallelToolCalls: true }), CODEX],
    ['an image to be looked at closely', sol({ items: [image('high')] }), RESPONSES],
    ['an image with nothing said', sol({ items: [image('auto')] }), CODEX],
  ] as const)('%s', (_, request, expected) => {
    expect(strategies().first(request)).toEqual(expected);
  });

  it('is what the deployment says', () => {
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' } });
    expect(strategies({ formats: { ...formats, setting: 'responses' } }).first(sol())).toEqual(RESPONSES);
    expect(strategies({ formats: { ...formats, setting: 'codex' } }).first(forced)).toEqual(CODEX);
  });

  it('is plain where there is one request format, and needs a relay for instructions in their field', () => {
    expect(strategies({ formats: null }).first(sol())).toEqual({ ...RESPONSES, slug: 'sol' });
    expect(strategies({ formats: null, hasRelay: false }).first(sol())).toEqual({
      ...RESPONSES,
      slug: 'sol',
      instructions: 'message',
      customTools: 'functions',
    });
    expect(strategies({ hasRelay: false }).first(sol({ parallelToolCalls: true, tools: [tool] }))).toEqual({
      ...CODEX,
      customTools: 'functions',
    });
  });
});

describe('the next approach', () => {
  it('is the other request format, once', () => {
    const ways = strategies();
    expect(ways.next(sol(), [CODEX], refusal('Something is not supported.'))).toEqual(RESPONSES);
    expect(ways.next(sol(), [RESPONSES], refusal('Something is not supported.'))).toEqual(CODEX);
    expect(ways.next(sol(), [RESPONSES, CODEX], refusal('Something is not supported.'))).toBeNull();
    expect(ways.next(sol({ model: 'other' }), [RESPONSES], refusal('no'))).toBeNull();
    expect(
      strategies({ formats: { ...formats, setting: 'codex' } }).next(sol(), [CODEX], refusal('no')),
    ).toBeNull();
  });

  it('is never the codex format for a tool that the backend runs, whatever was learnt', () => {
    const ways = strategies();
    const request = sol({ tools: [{ kind: 'hosted', raw: { type: 'web_search' } }] });
    expect(ways.next(request, [RESPONSES], refusal('Something is not supported.'))).toBeNull();
    ways.worked(sol(), [RESPONSES, CODEX]);
    expect([ways.first(sol({ tools: [tool], parallelToolCalls: true })), ways.first(request)]).toEqual([
      CODEX,
      RESPONSES,
    ]);
  });

  it('is none where the refusal has a cause of its own, unless that is the request format', () => {
    const ways = strategies();
    expect(ways.next(sol(), [CODEX], failure('context_length_exceeded'))).toBeNull();
    expect(ways.next(sol(), [CODEX], failure('model_not_found'))).toBeNull();
    expect(ways.next(sol(), [CODEX], refusal('Invalid schema.', 'invalid_json_schema'))).toBeNull();
    const choice = "Tool choice 'f' not found in 'tools' parameter.";
    expect(ways.next(sol(), [CODEX], refusal(choice, 'invalid_value'))).toEqual(RESPONSES);
  });

  it.each([
    'Instructions are required',
    'Instructions are not valid',
    "Unsupported parameter: 'instructions'",
  ])('says instructions as a message after "%s"', (message) => {
    const asMessage = { ...RESPONSES, instructions: 'message' };
    expect(strategies().next(sol(), [RESPONSES], refusal(message))).toEqual(asMessage);
  });

  it('leaves out reasoning that cannot be read', () => {
    const unreadable = refusal('no', 'invalid_encrypted_content');
    const request = sol({
      items: [
        { kind: 'message', role: 'user', parts: [] },
        { kind: 'reasoning', summary: [], encryptedContent: 'x' },
      ],
    });
    const without = { ...CODEX, reasoning: 'left-out' } as const;
    expect(strategies().next(request, [CODEX], unreadable)).toEqual(without);
    expect(strategies().next(request, [CODEX, without], unreadable)).toBeNull();
    expect(strategies().next(sol(), [CODEX], unreadable)).toBeNull();
  });
});

describe('tools that a backend does not know', () => {
  const custom = { kind: 'custom', name: 'c', description: null, format: null } as const;
  const called = { kind: 'tool-call', tool: 'function', callId: '1', name: 'f', namespace: 'n', input: '' };
  const request = sol({ tools: [custom], items: [called as Item] });
  const FUNCTIONS = { ...RESPONSES, customTools: 'functions' } as const;
  const FLAT = { ...FUNCTIONS, namespaces: 'left-out' } as const;

  it('are told in another way, one after the other, and that is learnt', () => {
    const ways = strategies({ formats: null });
    const first = ways.first(request);
    const next = (tried: readonly RequestStrategy[], message: string) =>
      ways.next(request, tried, refusal(message, 'invalid_value'));
    const slug = { slug: 'sol' };
    expect(next([first], 'Unsupported tool type: custom')).toEqual({ ...FUNCTIONS, ...slug });
    expect(next([first, { ...FUNCTIONS, ...slug }], 'Unknown field: namespace')).toEqual({
      ...FLAT,
      ...slug,
    });
    expect(next([{ ...FLAT, ...slug }], 'Unsupported: custom, namespace')).toBeNull();
    ways.worked(request, [first, { ...FUNCTIONS, ...slug }, { ...FLAT, ...slug }]);
    expect(ways.first(request)).toEqual({ ...FLAT, ...slug });
    expect(ways.first({ ...request, context: turnContext({ caller: { keyId: 'another' } }) })).toEqual(first);
  });

  it('are not the reason where there are none', () => {
    const ways = strategies({ formats: null });
    const plain = sol({ tools: [tool] });
    for (const message of ['Unsupported tool type: custom', 'Unknown field: namespace']) {
      expect(ways.next(plain, [RESPONSES], refusal(message))).toBeNull();
    }
  });
});

describe('what the caller is told', () => {
  it('says what helps where only the relay would', () => {
    const required = refusal('Instructions are required');
    expect(strategies().explained(required)).toEqual(required);
    expect(strategies({ hasRelay: false }).explained(required).message).toMatch(
      /^Instructions are required \(.*PROXY_WIRE\.\)$/,
    );
    const other = refusal('Something else');
    expect(strategies({ hasRelay: false }).explained(other)).toEqual(other);
  });
});

describe('what is learnt', () => {
  it('a request format that was refused, for its model and for a while', () => {
    let now = 0;
    const ways = strategies({ clock: { now: () => now } });
    ways.worked(sol(), [CODEX, RESPONSES]);
    expect(ways.first(sol({ conversation: 'another' }))).toEqual(RESPONSES);
    now = 10 * 60_000;
    expect(ways.first(sol({ conversation: 'another' }))).toEqual(CODEX);
  });

  it('nothing about a request format that answers others: the refusal is about that request', () => {
    let now = 0;
    const ways = strategies({ clock: { now: () => now } });
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' } });
    ways.worked(forced, [RESPONSES]);
    ways.worked(forced, [RESPONSES, CODEX]);
    expect(ways.first(forced)).toEqual(RESPONSES);
    // Long ago: the service may have changed its mind since.
    now = 10 * 60_000;
    ways.worked(forced, [RESPONSES, CODEX]);
    expect(ways.first(forced)).toEqual(CODEX);
  });

  it('from one caller, nothing about another; and from one effort nothing about another', () => {
    const ways = strategies();
    const asMessage = { ...RESPONSES, instructions: 'message' } as const;
    ways.worked(sol({ keyId: 'a' }), [CODEX, RESPONSES]);
    ways.worked(sol({ keyId: 'b' }), [RESPONSES, asMessage]);
    const needy = { tools: [tool], parallelToolCalls: true, conversation: 'new' } as const;
    expect(ways.first(sol({ keyId: 'a', conversation: 'new' }))).toEqual(RESPONSES);
    expect(ways.first(sol({ keyId: 'b', conversation: 'new' }))).toEqual(CODEX);
    expect(ways.first(sol({ keyId: 'a', ...needy }))).toEqual(RESPONSES);
    expect(ways.first(sol({ keyId: 'b', ...needy }))).toEqual(asMessage);
    const high = { effort: 'high', summary: null, context: null };
    expect(ways.first(sol({ keyId: 'a', conversation: 'new', reasoning: high }))).toEqual(CODEX);
  });

  it('nothing that would take from a caller what it insists on', () => {
    const ways = strategies();
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' }, conversation: 'new' });
    ways.worked(forced, [RESPONSES, CODEX]);
    expect(ways.first(forced)).toEqual(CODEX);
    expect(ways.first({ ...forced, request: { ...forced.request, isStrict: true } })).toEqual(RESPONSES);
    expect(ways.first(sol({ isStrict: true }))).toEqual(CODEX);
  });

  it('where instructions stand', () => {
    const ways = strategies();
    const asMessage = { ...RESPONSES, instructions: 'message' } as const;
    ways.worked(sol(), [RESPONSES, asMessage]);
    expect(ways.first(sol({ tools: [tool], parallelToolCalls: true }))).toEqual(asMessage);
  });

  it('the request format of a conversation, for the sake of its cache', () => {
    const ways = strategies();
    ways.worked(sol({ conversation: 'a' }), [RESPONSES]);
    expect(ways.first(sol({ conversation: 'a' }))).toEqual(RESPONSES);
    expect(ways.first(sol({ conversation: 'b' }))).toEqual(CODEX);
  });
});
