import { describe, expect, it } from 'vitest';

import type { Item } from '../../canonical/item.ts';
import { turnRequest } from '../../../test/support/turn-request.ts';
import { affinityKey } from './affinity.ts';

const said = (role: 'user' | 'assistant' | 'system', text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;

describe('the affinity key', () => {
  const first = turnRequest({ instructions: 'Be kind.', items: [said('user', 'hi')] });

  it('stays the same while a conversation grows', () => {
    const later = turnRequest({
      ...first,
      items: [
        { ...said('user', 'hi'), id: 'msg_1' } as Item,
        said('assistant', 'hello'),
        said('user', 'more'),
        said('system', 'be brief'),
      ],
      maxOutputTokens: 100,
      wire: [{ field: 'temperature', value: 0.5, name: 'temperature', matters: true }],
    });
    expect(affinityKey(later)).toEqual(affinityKey(first));
    expect(affinityKey(first)).toEqual({
      cacheKey: expect.stringMatching(UUID),
      session: affinityKey(first).cacheKey,
    });
  });

  it('differs by conversation, model, instructions, prompt, tools and caller', () => {
    const others = [
      turnRequest({ ...first, items: [said('user', 'hello')] }),
      turnRequest({ ...first, items: [said('system', 'Be quick.'), said('user', 'hi')] }),
      turnRequest({ ...first, model: 'gpt-5.6-luna' }),
      turnRequest({ ...first, instructions: 'Be quick.' }),
      turnRequest({ ...first, instructions: null }),
      turnRequest({ ...first, tools: [{ name: 'f', description: null, parameters: null, strict: null }] }),
      turnRequest({ ...first, affinity: { caller: 'someone else', session: null } }),
      turnRequest({ ...first, affinity: { caller: 'test', session: 'a session' } }),
      turnRequest({ ...first, items: [said('assistant', 'nobody asked')] }),
    ].map((request) => affinityKey(request).cacheKey);
    expect(new Set([affinityKey(first).cacheKey, ...others]).size).toBe(others.length + 1);
  });

  it('is the session that the client named, whatever it says in it', () => {
    const named = { caller: 'test', session: 'a session' };
    const one = affinityKey(turnRequest({ affinity: named }));
    const two = affinityKey(turnRequest({ affinity: named, items: [said('user', 'something else')] }));
    expect(one).toEqual(two);
    const other = affinityKey(turnRequest({ affinity: { caller: 'other', session: 'a session' } }));
    expect(other.session).not.toBe(one.session);
  });

  it('is the key of the client as it is in the body, and a harmless form of it in headers', () => {
    const own = 'my key\r\nx-evil: 1 ✨';
    const request = turnRequest({
      affinity: { caller: 'test', session: 'a session' },
      wire: [{ field: 'prompt_cache_key', value: own, name: 'prompt_cache_key', matters: false }],
    });
    expect(affinityKey(request)).toEqual({ cacheKey: own, session: expect.stringMatching(UUID) });
  });
});
