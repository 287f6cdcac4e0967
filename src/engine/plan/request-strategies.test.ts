import { describe, expect, it } from 'vitest';

import { functionTool, turnContext, turnOf, type Different } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { Refusals } from '../../codex/capabilities/refusals.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import {
  RequestStrategies,
  isAboutCustomTools,
  isAboutNamespaces,
  type RequestStrategiesOptions,
} from './request-strategies.ts';

describe('request strategies', () => {
  const formats = {
    setting: 'auto',
    usesCodexFormat: (model: string) => model === 'sol',
    responsesSlug: (model: string) => `${model}--full`,
  } as const;
  const ALL = { instructionsField: true, customTools: true, bothFormats: true };
  const NONE = { instructionsField: false, customTools: false, bothFormats: false };
  const clock = { now: () => 0 };
  const strategies = (different: Partial<RequestStrategiesOptions> = {}): RequestStrategies =>
    new RequestStrategies({
      formats,
      carries: ALL,
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
    lateTools: 'in-place',
  };
  const RESPONSES: RequestStrategy = {
    requestFormat: 'responses',
    slug: 'sol--full',
    instructions: 'field',
    reasoning: 'kept',
    customTools: 'native',
    namespaces: 'kept',
    lateTools: 'in-place',
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

  describe('the first strategy', () => {
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

    it('is the configured one', () => {
      const forced = sol({ tools: [tool], toolChoice: { mode: 'required' } });
      expect(strategies({ formats: { ...formats, setting: 'responses' } }).first(sol())).toEqual(RESPONSES);
      expect(strategies({ formats: { ...formats, setting: 'codex' } }).first(forced)).toEqual(CODEX);
    });

    it('has the Responses format if there is only one, and needs a driver for the instructions field', () => {
      expect(strategies({ formats: null }).first(sol())).toEqual({ ...RESPONSES, slug: 'sol' });
      expect(strategies({ formats: null, carries: NONE }).first(sol())).toEqual({
        ...RESPONSES,
        slug: 'sol',
        instructions: 'message',
        customTools: 'functions',
      });
      expect(strategies({ carries: NONE }).first(sol({ parallelToolCalls: true, tools: [tool] }))).toEqual({
        ...CODEX,
        customTools: 'functions',
      });
    });
  });

  describe('the next strategy', () => {
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

    it('is never the codex format for a hosted tool, whatever was learned', () => {
      const ways = strategies();
      const request = sol({ tools: [{ kind: 'hosted', raw: { type: 'web_search' } }] });
      expect(ways.next(request, [RESPONSES], refusal('Something is not supported.'))).toBeNull();
      ways.worked(sol(), [RESPONSES, CODEX]);
      expect([ways.first(sol({ tools: [tool], parallelToolCalls: true })), ways.first(request)]).toEqual([
        CODEX,
        RESPONSES,
      ]);
    });

    it('is null if the rejection has a cause other than the request format', () => {
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
    ])('has instructions as a message after "%s"', (message) => {
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

    it('are sent in another form, one after the other, and that is learned', () => {
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
      expect(ways.first({ ...request, context: turnContext({ caller: { keyId: 'another' } }) })).toEqual(
        first,
      );
    });

    it('go to the tool list if the backend does not take them in the conversation', () => {
      const ways = strategies({ formats: null });
      const raw = { type: 'additional_tools' };
      const late = sol({ items: [{ kind: 'loaded-tools', raw, tools: [tool], isOurs: true }] });
      const first = ways.first(late);
      const listed = { ...first, lateTools: 'in-list' } as const;
      const refused = refusal("Invalid value: 'additional_tools'.", 'invalid_value');
      expect(ways.next(late, [first], refused)).toEqual(listed);
      expect(ways.next(late, [first, listed], refused)).toBeNull();
      const chosen = sol({ items: [{ kind: 'loaded-tools', raw, tools: [tool] }] });
      expect(ways.next(chosen, [first], refused)).toBeNull();
      ways.worked(late, [first, listed]);
      expect(ways.first(late)).toEqual(listed);
    });

    it('are not the cause if the request has none', () => {
      const ways = strategies({ formats: null });
      const plain = sol({ tools: [tool] });
      for (const message of ['Unsupported tool type: custom', 'Unknown field: namespace']) {
        expect(ways.next(plain, [RESPONSES], refusal(message))).toBeNull();
      }
    });
  });

  describe('the rejection for the caller', () => {
    it('names the relay if only that helps', () => {
      const required = refusal('Instructions are required');
      expect(strategies().explained(required)).toEqual(required);
      expect(strategies({ carries: NONE }).explained(required).message).toMatch(
        /^Instructions are required \(.*PROXY_WIRE\.\)$/,
      );
      const other = refusal('Something else');
      expect(strategies({ carries: NONE }).explained(other)).toEqual(other);
    });
  });

  describe('what is learned', () => {
    it('a rejected request format, for its model and for a while', () => {
      let now = 0;
      const ways = strategies({ clock: { now: () => now } });
      ways.worked(sol(), [CODEX, RESPONSES]);
      expect(ways.first(sol({ conversation: 'another' }))).toEqual(RESPONSES);
      now = 10 * 60_000;
      expect(ways.first(sol({ conversation: 'another' }))).toEqual(CODEX);
    });

    it('nothing about a request format that works for others: the rejection is about that request', () => {
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

    it('nothing that would remove what a strict caller needs', () => {
      const ways = strategies();
      const forced = sol({ tools: [tool], toolChoice: { mode: 'required' }, conversation: 'new' });
      ways.worked(forced, [RESPONSES, CODEX]);
      expect(ways.first(forced)).toEqual(CODEX);
      expect(ways.first({ ...forced, request: { ...forced.request, isStrict: true } })).toEqual(RESPONSES);
      expect(ways.first(sol({ isStrict: true }))).toEqual(CODEX);
    });

    it('the place of instructions', () => {
      const ways = strategies();
      const asMessage = { ...RESPONSES, instructions: 'message' } as const;
      ways.worked(sol(), [RESPONSES, asMessage]);
      expect(ways.first(sol({ tools: [tool], parallelToolCalls: true }))).toEqual(asMessage);
    });

    it('the request format of a conversation, for its prompt cache', () => {
      const ways = strategies();
      ways.worked(sol({ conversation: 'a' }), [RESPONSES]);
      expect(ways.first(sol({ conversation: 'a' }))).toEqual(RESPONSES);
      expect(ways.first(sol({ conversation: 'b' }))).toEqual(CODEX);
    });
  });
});

describe('about tools', () => {
  const TOOLS: readonly Tool[] = [
    functionTool('f'),
    { kind: 'custom', name: 'c', description: null, format: null },
  ];
  const refusal = (message: string, param: string | null) => failure('invalid_prompt', { message, param });

  it.each([
    [true, "Invalid value: 'custom'. Supported values are: 'function'.", 'tools[1].type'],
    [true, "Missing required parameter: 'tools[1].parameters'.", 'tools[1].parameters'],
    [true, 'Unsupported tool type: custom', null],
    [true, "'type' of tool must be 'function'", null],
    [true, "Input should be 'function'", 'body.tools.1.type'],
    [true, 'Only function tools are supported.', null],
    [true, "Invalid value: 'custom_tool_call'.", 'input[2].type'],
    [false, "Missing required parameter: 'tools[0].parameters'.", 'tools[0].parameters'],
    [false, 'Invalid grammar of custom tool c.', 'tools[1].format.definition'],
    [false, "Invalid 'tools[1].name': string too long.", 'tools[1].name'],
    [false, 'Duplicate custom tool c is not allowed.', 'tools[1]'],
    [false, "Invalid schema for function 'f'.", 'tools[0].parameters'],
  ])('a refusal is about custom tools: %s, %s (%s)', (expected, message, param) => {
    expect(isAboutCustomTools(refusal(message, param), TOOLS)).toBe(expected);
  });

  it.each([
    [true, "Unknown parameter: 'input[3].namespace'.", 'input[3].namespace'],
    [true, 'Unsupported field namespace', null],
    [false, "Invalid value: 'namespace'.", 'tools[0].type'],
    [false, 'Something is not supported.', null],
  ])('a refusal is about namespaces of calls: %s, %s (%s)', (expected, message, param) => {
    expect(isAboutNamespaces(refusal(message, param))).toBe(expected);
  });
});
