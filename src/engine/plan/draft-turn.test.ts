import { describe, expect, it } from 'vitest';

import { NO_SAMPLING, turnContext, turnOf, turnRequest } from '../../../test/support/turn-request.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { profileOf } from '../../codex/capabilities/profile.ts';
import { directLogin, type BackendTarget } from '../../codex/home/backend.ts';
import { CHATGPT_HISTORY, OTHER_HISTORY } from '../../codex/translate/fit-history.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { NO_MCP } from '../mcp/mcp-tools.ts';
import { relayDraft } from '../drivers/relay/driver.ts';
import { rpcDraft } from '../drivers/rpc/driver.ts';
import type { DraftDeps } from './draft-turn.ts';

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const low: Item = { kind: 'message', role: 'user', parts: [{ kind: 'image', url: 'data:', detail: 'low' }] };
const forgotten: Item = { kind: 'reasoning', summary: ['why'] };
const secret: Item = { kind: 'reasoning', summary: [], encryptedContent: 'e' };

const DEPS: DraftDeps = {
  historyRules: OTHER_HISTORY,
  effortsOf: () => null,
  settings: { knows: () => true },
  mcp: NO_MCP,
};
const RPC = rpcDraft(DEPS);
const relayTo = (backend: BackendTarget, different: Partial<DraftDeps> = {}) =>
  relayDraft({ profile: profileOf(backend, null), refusedFor: () => new Set() }, { ...DEPS, ...different });
const TO_CHATGPT = { historyRules: CHATGPT_HISTORY, effortsOf: () => ['low', 'high'] };
const CHATGPT = relayTo(directLogin('chatgpt'), TO_CHATGPT);
const PROVIDER = relayTo({ kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null });
const KEPT = {
  requestFormat: 'responses',
  slug: 'm',
  instructions: 'field',
  reasoning: 'kept',
  customTools: 'native',
  namespaces: 'kept',
  lateTools: 'in-place',
} as const;
const WITH_WEB: DraftDeps['mcp'] = {
  deployment: new Map([
    [
      'web',
      {
        server: {
          label: 'web',
          transport: { kind: 'http', url: 'http://web.test/', headers: {} },
          startupSeconds: 1,
          callSeconds: 1,
          requireApproval: 'never',
        },
        config: {},
        lastError: () => null,
        close: () => {},
      },
    ],
  ]),
  reach: null,
};
const NOTHING = { uses: [], listed: new Set(), approved: [], maxCalls: null };
const warm = { ...NO_SAMPLING, temperature: 0.5 };

const context = turnContext();

describe('a draft', () => {
  it('is the request for its backend, and reports lost parts by their original paths', () => {
    const request = turnRequest({
      items: [forgotten, user, low],
      sampling: warm,
      reasoning: { effort: 'xhigh', summary: null, context: null },
    });
    const { reasoning } = request;
    expect(RPC({ request, context }, KEPT)).toEqual({
      strategy: KEPT,
      request: { ...request, items: [user, low] },
      mcp: NOTHING,
      unsaid: ['sampling.temperature'],
      leftOut: [{ item: 0 }, { imageDetail: { item: 2, of: 'content', part: 0 } }],
      refused: [],
      shown: expect.any(Function),
    });
    expect(CHATGPT({ request, context }, KEPT)).toEqual({
      strategy: KEPT,
      request: { ...request, items: [user, low], reasoning: { ...reasoning, effort: 'high' } },
      mcp: NOTHING,
      unsaid: ['sampling.temperature'],
      leftOut: [{ item: 0 }, 'reasoning.effort'],
      refused: [],
      shown: expect.any(Function),
    });
  });

  it('has a message about a forced call, if there is no field for it or the model ignored that', () => {
    const toolChoice = { mode: 'named', tool: { kind: 'function', name: 'f' } } as const;
    const said = (different: Partial<TurnRequest>, requestFormat: 'responses' | 'codex', drafted = CHATGPT) =>
      drafted(turnOf({ items: [user], ...different }), { ...KEPT, requestFormat }).request.items;
    const text =
      'Answer this turn by calling the tool "f". Call no other tool, and do not answer in text only.';
    const line: Item = { kind: 'message', role: 'developer', parts: [{ kind: 'text', text }] };
    expect(said({ toolChoice }, 'responses')).toEqual([user]);
    expect(said({ toolChoice, insists: true }, 'responses')).toEqual([user, line]);
    expect(said({ toolChoice }, 'codex')).toEqual([user, line]);
    expect(said({ toolChoice }, 'responses', RPC)).toEqual([user, line]);
    expect(said({ toolChoice: { mode: 'none' } }, 'responses', RPC)).toEqual([user]);
  });

  it('leaves out reasoning that could not be read', () => {
    const items: readonly Item[] = [user, secret, { ...user, role: 'assistant' }, user];
    const draft = CHATGPT(turnOf({ items }), { ...KEPT, reasoning: 'left-out' });
    expect([draft.request.items.length, draft.leftOut]).toEqual([3, [{ item: 1 }]]);
  });

  const file = (raw: JsonObject): Item => ({
    kind: 'message',
    role: 'user',
    parts: [
      { kind: 'text', text: 'read' },
      { kind: 'file', raw: { type: 'input_file', ...raw } },
    ],
  });

  it('has files if the backend takes them, otherwise the text of text files', () => {
    const readable = file({ filename: 'a.md', file_data: 'IyBI' });
    const paper = file({ filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' });
    const items = [
      forgotten,
      readable,
      paper,
      file({ file_url: 'https://x/a.pdf' }),
      file({ file_data: '#' }),
    ];
    const request = turnRequest({ items });
    expect(PROVIDER({ request, context }, KEPT)).toMatchObject({
      request: { items: items.slice(1) },
      refused: [],
    });
    for (const drafted of [RPC, CHATGPT]) {
      const draft = drafted({ request, context }, KEPT);
      expect(draft.request.items[0]).toMatchObject({ parts: [{ text: 'read' }, { text: 'a.md:\n\n# H' }] });
      expect(draft.refused.map(({ path, kind }) => [path, kind])).toEqual([
        [{ file: { item: 2, of: 'content', part: 1 } }, 'unsupported_file'],
        [{ file: { item: 3, of: 'content', part: 1 } }, 'unsupported_file'],
        [{ file: { item: 4, of: 'content', part: 1 } }, 'invalid_value'],
      ]);
    }
  });

  it('has the text in place of a file that the backend does not take', () => {
    const raw = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };
    const output = [{ kind: 'file', raw, otherwise: 'Not here.' }] as const;
    const paper = { kind: 'tool-output', tool: 'function', callId: 'c1', output } as const;
    const request = turnRequest({ items: [user, paper as Item] });
    expect(PROVIDER({ request, context }, KEPT)).toMatchObject({ request, refused: [] });
    for (const drafted of [RPC, CHATGPT]) {
      expect(drafted({ request, context }, KEPT)).toMatchObject({
        request: { items: [user, { ...paper, output: [{ kind: 'text', text: 'Not here.' }] }] },
        refused: [],
      });
    }
  });

  it('has unknown items if they can be sent', () => {
    const cut = { kind: 'hosted-call', raw: { type: 'image_generation_call', result: null } } as const;
    const search = { kind: 'hosted-call', raw: { type: 'web_search_call' } } as const;
    const odd = { kind: 'opaque', raw: { type: 'telepathy' } } as const;
    const request = turnRequest({ items: [user, cut, search, odd] });
    expect(PROVIDER({ request, context }, KEPT)).toMatchObject({
      request,
      leftOut: [],
      refused: [],
    });
    expect(RPC({ request, context }, KEPT)).toMatchObject({
      leftOut: [{ item: 1 }],
      refused: [{ path: { item: 3 }, kind: 'unsupported_value' }],
    });
  });

  it('reads a conversation once if there is nothing to change in it', () => {
    const plain = Array.from({ length: 50 }, () => user);
    const readsOf = (drafted: typeof RPC): readonly [number, boolean] => {
      let reads = 0;
      const items = new Proxy(plain, {
        get(target, name) {
          if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
          return Reflect.get(target, name) as unknown;
        },
      });
      const draft = drafted(turnOf({ items }), KEPT);
      return [reads, draft.request.items === items];
    };
    for (const drafted of [PROVIDER, CHATGPT, RPC]) expect(readsOf(drafted)).toEqual([50, true]);
  });

  it('counts calls of local servers, and ignores a limit of calls only for other tools', () => {
    const web = { kind: 'hosted', raw: { type: 'mcp', server_label: 'web' } } as const;
    const search = { kind: 'hosted', raw: { type: 'web_search' } } as const;
    const draft = (...tools: readonly Tool[]) =>
      relayTo(directLogin('chatgpt'), { ...TO_CHATGPT, mcp: WITH_WEB })(
        turnOf({ tools, maxToolCalls: 2 }),
        KEPT,
      );
    expect(draft(web)).toMatchObject({ unsaid: [], refused: [], mcp: { maxCalls: 2, uses: [{}] } });
    expect(draft(web, search)).toMatchObject({ unsaid: ['maxToolCalls'], mcp: { maxCalls: 2 } });
  });

  it('rejects what cannot be run, and ignored parts of a strict request', () => {
    const why = (different: Partial<TurnRequest>) =>
      RPC(turnOf(different), KEPT).refused.map(({ path, kind }) => [path, kind]);
    const tool = { kind: 'hosted', raw: { type: 'web_search' } } as const;
    expect(why({ tools: [tool] })).toEqual([[{ tool: 0 }, 'unsupported_tool']]);
    expect(why({ items: [forgotten] })).toEqual([[{ item: 0 }, 'invalid_value']]);
    expect(why({ sampling: warm })).toEqual([]);
    expect(why({ sampling: warm, isStrict: true })).toEqual([
      ['sampling.temperature', 'unsupported_parameter'],
    ]);
  });
});
