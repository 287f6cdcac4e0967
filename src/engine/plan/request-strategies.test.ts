import { describe, expect, it } from 'vitest';

import { functionTool, turnContext, turnOf, type Different } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import { RequestStrategies, type RequestStrategiesOptions } from './request-strategies.ts';

const lanes = {
  setting: 'auto',
  isLite: (model: string) => model === 'sol',
  fullSlug: (model: string) => `${model}--full`,
} as const;
const clock = { now: () => 0 };
const strategies = (different: Partial<RequestStrategiesOptions> = {}): RequestStrategies =>
  new RequestStrategies({ lanes, hasRelay: true, clock, onLearnt() {}, ...different });

const LITE: RequestStrategy = {
  lane: 'lite',
  slug: 'sol',
  instructions: 'message',
  reasoning: 'kept',
  customTools: 'native',
  namespaces: 'kept',
};
const FULL: RequestStrategy = {
  lane: 'full',
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
    ['a lite model', sol(), LITE],
    ['a model that codex sends on the full lane', sol({ model: 'other' }), { ...FULL, slug: 'other' }],
    ['tools alone', sol({ tools: [tool] }), LITE],
    ['a forced choice', sol({ tools: [tool], toolChoice: { mode: 'required' } }), FULL],
    ['no call at all', sol({ tools: [tool], toolChoice: { mode: 'none' } }), FULL],
    ['several calls at once', sol({ tools: [tool], parallelToolCalls: true }), FULL],
    ['a choice among no tools', sol({ parallelToolCalls: true }), LITE],
    ['an image to be looked at closely', sol({ items: [image('high')] }), FULL],
    ['an image with nothing said', sol({ items: [image('auto')] }), LITE],
  ] as const)('%s', (_, request, expected) => {
    expect(strategies().first(request)).toEqual(expected);
  });

  it('is what the deployment says', () => {
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' } });
    expect(strategies({ lanes: { ...lanes, setting: 'full' } }).first(sol())).toEqual(FULL);
    expect(strategies({ lanes: { ...lanes, setting: 'lite' } }).first(forced)).toEqual(LITE);
  });

  it('is plain where there is one lane, and needs a relay for instructions in their field', () => {
    expect(strategies({ lanes: null }).first(sol())).toEqual({ ...FULL, slug: 'sol' });
    expect(strategies({ lanes: null, hasRelay: false }).first(sol())).toEqual({
      ...FULL,
      slug: 'sol',
      instructions: 'message',
      customTools: 'functions',
    });
    expect(strategies({ hasRelay: false }).first(sol({ parallelToolCalls: true, tools: [tool] }))).toEqual({
      ...LITE,
      customTools: 'functions',
    });
  });
});

describe('the next approach', () => {
  it('is the other lane, once', () => {
    const ways = strategies();
    expect(ways.next(sol(), [LITE], refusal('Something is not supported.'))).toEqual(FULL);
    expect(ways.next(sol(), [FULL], refusal('Something is not supported.'))).toEqual(LITE);
    expect(ways.next(sol(), [FULL, LITE], refusal('Something is not supported.'))).toBeNull();
    expect(ways.next(sol({ model: 'other' }), [FULL], refusal('no'))).toBeNull();
    expect(
      strategies({ lanes: { ...lanes, setting: 'lite' } }).next(sol(), [LITE], refusal('no')),
    ).toBeNull();
  });

  it('is never the lite lane for a tool that the backend runs, whatever was learnt', () => {
    const ways = strategies();
    const request = sol({ tools: [{ kind: 'hosted', raw: { type: 'web_search' } }] });
    expect(ways.next(request, [FULL], refusal('Something is not supported.'))).toBeNull();
    ways.worked(sol(), [FULL, LITE]);
    expect([ways.first(sol({ tools: [tool], parallelToolCalls: true })), ways.first(request)]).toEqual([
      LITE,
      FULL,
    ]);
  });

  it('is none where the refusal has a cause of its own, unless that is the lane', () => {
    const ways = strategies();
    expect(ways.next(sol(), [LITE], failure('context_length_exceeded'))).toBeNull();
    expect(ways.next(sol(), [LITE], failure('model_not_found'))).toBeNull();
    expect(ways.next(sol(), [LITE], refusal('Invalid schema.', 'invalid_json_schema'))).toBeNull();
    const choice = "Tool choice 'f' not found in 'tools' parameter.";
    expect(ways.next(sol(), [LITE], refusal(choice, 'invalid_value'))).toEqual(FULL);
  });

  it.each([
    'Instructions are required',
    'Instructions are not valid',
    "Unsupported parameter: 'instructions'",
  ])('says instructions as a message after "%s"', (message) => {
    const asMessage = { ...FULL, instructions: 'message' };
    expect(strategies().next(sol(), [FULL], refusal(message))).toEqual(asMessage);
  });

  it('leaves out reasoning that cannot be read', () => {
    const unreadable = refusal('no', 'invalid_encrypted_content');
    const request = sol({
      items: [
        { kind: 'message', role: 'user', parts: [] },
        { kind: 'reasoning', summary: [], encryptedContent: 'x' },
      ],
    });
    const without = { ...LITE, reasoning: 'left-out' } as const;
    expect(strategies().next(request, [LITE], unreadable)).toEqual(without);
    expect(strategies().next(request, [LITE, without], unreadable)).toBeNull();
    expect(strategies().next(sol(), [LITE], unreadable)).toBeNull();
  });
});

describe('tools that a backend does not know', () => {
  const custom = { kind: 'custom', name: 'c', description: null, format: null } as const;
  const called = { kind: 'tool-call', tool: 'function', callId: '1', name: 'f', namespace: 'n', input: '' };
  const request = sol({ tools: [custom], items: [called as Item] });
  const FUNCTIONS = { ...FULL, customTools: 'functions' } as const;
  const FLAT = { ...FUNCTIONS, namespaces: 'left-out' } as const;

  it('are told in another way, one after the other, and that is learnt', () => {
    const ways = strategies({ lanes: null });
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
    const ways = strategies({ lanes: null });
    const plain = sol({ tools: [tool] });
    for (const message of ['Unsupported tool type: custom', 'Unknown field: namespace']) {
      expect(ways.next(plain, [FULL], refusal(message))).toBeNull();
    }
  });
});

describe('what the caller is told', () => {
  it('says what helps where only the relay would', () => {
    const required = refusal('Instructions are required');
    expect(strategies().told(required)).toEqual(required);
    expect(strategies({ hasRelay: false }).told(required).message).toMatch(
      /^Instructions are required \(.*PROXY_WIRE\.\)$/,
    );
    const other = refusal('Something else');
    expect(strategies({ hasRelay: false }).told(other)).toEqual(other);
  });
});

describe('what is learnt', () => {
  it('a lane that was refused, for its model and for a while', () => {
    let now = 0;
    const ways = strategies({ clock: { now: () => now } });
    ways.worked(sol(), [LITE, FULL]);
    expect(ways.first(sol({ conversation: 'another' }))).toEqual(FULL);
    now = 10 * 60_000;
    expect(ways.first(sol({ conversation: 'another' }))).toEqual(LITE);
  });

  it('nothing about a lane that answers others: the refusal is about that request', () => {
    let now = 0;
    const ways = strategies({ clock: { now: () => now } });
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' } });
    ways.worked(forced, [FULL]);
    ways.worked(forced, [FULL, LITE]);
    expect(ways.first(forced)).toEqual(FULL);
    // Long ago: the service may have changed its mind since.
    now = 10 * 60_000;
    ways.worked(forced, [FULL, LITE]);
    expect(ways.first(forced)).toEqual(LITE);
  });

  it('from one caller, nothing about another; and from one effort nothing about another', () => {
    const ways = strategies();
    const asMessage = { ...FULL, instructions: 'message' } as const;
    ways.worked(sol({ keyId: 'a' }), [LITE, FULL]);
    ways.worked(sol({ keyId: 'b' }), [FULL, asMessage]);
    const needy = { tools: [tool], parallelToolCalls: true, conversation: 'new' } as const;
    expect(ways.first(sol({ keyId: 'a', conversation: 'new' }))).toEqual(FULL);
    expect(ways.first(sol({ keyId: 'b', conversation: 'new' }))).toEqual(LITE);
    expect(ways.first(sol({ keyId: 'a', ...needy }))).toEqual(FULL);
    expect(ways.first(sol({ keyId: 'b', ...needy }))).toEqual(asMessage);
    const high = { effort: 'high', summary: null, context: null };
    expect(ways.first(sol({ keyId: 'a', conversation: 'new', reasoning: high }))).toEqual(LITE);
  });

  it('nothing that would take from a caller what it insists on', () => {
    const ways = strategies();
    const forced = sol({ tools: [tool], toolChoice: { mode: 'required' }, conversation: 'new' });
    ways.worked(forced, [FULL, LITE]);
    expect(ways.first(forced)).toEqual(LITE);
    expect(ways.first({ ...forced, request: { ...forced.request, isStrict: true } })).toEqual(FULL);
    expect(ways.first(sol({ isStrict: true }))).toEqual(LITE);
  });

  it('where instructions stand', () => {
    const ways = strategies();
    const asMessage = { ...FULL, instructions: 'message' } as const;
    ways.worked(sol(), [FULL, asMessage]);
    expect(ways.first(sol({ tools: [tool], parallelToolCalls: true }))).toEqual(asMessage);
  });

  it('the lane of a conversation, for the sake of its cache', () => {
    const ways = strategies();
    ways.worked(sol({ conversation: 'a' }), [FULL]);
    expect(ways.first(sol({ conversation: 'a' }))).toEqual(FULL);
    expect(ways.first(sol({ conversation: 'b' }))).toEqual(LITE);
  });
});
