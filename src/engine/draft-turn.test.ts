import { describe, expect, it } from 'vitest';

import { NO_SAMPLING, turnRequest } from '../../test/support/turn-request.ts';
import type { Item } from '../canonical/item.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import { profileOf } from '../codex/capabilities/profile.ts';
import { directLogin } from '../codex/home/backend.ts';
import { CHATGPT_HISTORY, OTHER_HISTORY } from '../codex/translate/fit-history.ts';
import { draftTurn, type DraftDeps } from './draft-turn.ts';

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const low: Item = { kind: 'message', role: 'user', parts: [{ kind: 'image', url: 'data:', detail: 'low' }] };
const forgotten: Item = { kind: 'reasoning', summary: ['why'] };
const secret: Item = { kind: 'reasoning', summary: [], encryptedContent: 'e' };

const PLAIN: DraftDeps = {
  relay: null,
  historyRules: OTHER_HISTORY,
  effortsOf: () => null,
  settings: { knows: () => true },
};
const CHATGPT: DraftDeps = {
  relay: { profile: profileOf(directLogin('chatgpt'), null), refusedFor: () => new Set() },
  historyRules: CHATGPT_HISTORY,
  effortsOf: () => ['low', 'high'],
  settings: { knows: () => true },
};
const KEPT = {
  lane: 'full',
  slug: 'm',
  instructions: 'field',
  reasoning: 'kept',
  customTools: 'native',
  namespaces: 'kept',
} as const;
const warm = { ...NO_SAMPLING, temperature: 0.5 };

describe('a draft', () => {
  it('is the request as its backend takes it, and says what of it is lost, by its first places', () => {
    const request = turnRequest({
      items: [forgotten, user, low],
      sampling: warm,
      reasoning: { effort: 'xhigh', summary: null },
    });
    const { reasoning } = request;
    expect(draftTurn(request, KEPT, PLAIN)).toEqual({
      approach: KEPT,
      request: { ...request, items: [user, low] },
      unsaid: ['sampling.temperature'],
      leftOut: [{ item: 0 }, { imageDetail: { item: 2, of: 'content', part: 0 } }],
      refused: [],
      shown: expect.any(Function),
    });
    expect(draftTurn(request, KEPT, CHATGPT)).toEqual({
      approach: KEPT,
      request: { ...request, items: [user, low], reasoning: { ...reasoning, effort: 'high' } },
      unsaid: ['sampling.temperature'],
      leftOut: [{ item: 0 }, 'reasoning.effort'],
      refused: [],
      shown: expect.any(Function),
    });
  });

  it('leaves out reasoning that could not be read', () => {
    const items: readonly Item[] = [user, secret, { ...user, role: 'assistant' }, user];
    const draft = draftTurn(
      turnRequest({ items }),
      { ...KEPT, reasoning: 'left-out', customTools: 'native', namespaces: 'kept' },
      CHATGPT,
    );
    expect([draft.request.items.length, draft.leftOut]).toEqual([3, [{ item: 1 }]]);
  });

  it('refuses what cannot be run at all, and what a strict request cannot do without', () => {
    const why = (different: Partial<TurnRequest>) =>
      draftTurn(turnRequest(different), KEPT, PLAIN).refused.map(({ path, kind }) => [path, kind]);
    const tool = {
      kind: 'function',
      name: 'mcp__x',
      description: null,
      parameters: null,
      strict: null,
    } as const;
    expect(why({ tools: [tool] })).toEqual([[{ toolName: 0 }, 'invalid_value']]);
    expect(why({ items: [forgotten] })).toEqual([[{ item: 0 }, 'invalid_value']]);
    expect(why({ sampling: warm })).toEqual([]);
    expect(why({ sampling: warm, isStrict: true })).toEqual([
      ['sampling.temperature', 'unsupported_parameter'],
    ]);
  });
});
