import { describe, expect, it } from 'vitest';

import { functionTool, NO_CACHE, NO_SAMPLING, turnRequest } from '../../test/support/turn-request.ts';
import type { Item } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { conversationKey, type ClientSession } from './conversation-key.ts';

const ANY_CLIENT: ClientSession = { caller: 'test', session: null };

const said = (role: 'user' | 'assistant' | 'system', text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});

const showed = (url: string): TurnRequest =>
  turnRequest({ items: [{ kind: 'message', role: 'user', parts: [{ kind: 'image', url }] }] });

const withKey = (value: string, different: Partial<TurnRequest> = {}): TurnRequest =>
  turnRequest({
    ...different,
    cache: { ...NO_CACHE, key: value },
  });

describe('conversationKey', () => {
  const first = turnRequest({ instructions: 'Be kind.', items: [said('user', 'hi')] });

  it('is a short hash that stays the same while the conversation grows', () => {
    const later = turnRequest({
      ...first,
      items: [
        {
          kind: 'message',
          role: 'user',
          parts: [{ kind: 'text', text: 'hi', cacheBreakpoint: { mode: 'explicit' } }],
          id: 'msg_1',
        },
        said('assistant', 'hello'),
        said('user', 'more'),
        said('system', 'be brief'),
      ],
      maxOutputTokens: 100,
      sampling: { ...NO_SAMPLING, temperature: 0.5 },
    });
    expect(conversationKey(later, ANY_CLIENT)).toBe(conversationKey(first, ANY_CLIENT));
    expect(conversationKey(first, ANY_CLIENT)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('differs by conversation, model, instructions, prompt, tools, caller and session', () => {
    const keys = [
      conversationKey(first, ANY_CLIENT),
      conversationKey(turnRequest({ ...first, items: [said('user', 'hello')] }), ANY_CLIENT),
      conversationKey(
        turnRequest({ ...first, items: [said('system', 'Be quick.'), said('user', 'hi')] }),
        ANY_CLIENT,
      ),
      conversationKey(turnRequest({ ...first, model: 'gpt-5.6-luna' }), ANY_CLIENT),
      conversationKey(turnRequest({ ...first, instructions: 'Be quick.' }), ANY_CLIENT),
      conversationKey(turnRequest({ ...first, instructions: null }), ANY_CLIENT),
      conversationKey(
        turnRequest({
          ...first,
          tools: [functionTool('f')],
        }),
        ANY_CLIENT,
      ),
      conversationKey(turnRequest({ ...first, items: [said('assistant', 'unprompted')] }), ANY_CLIENT),
      conversationKey(first, { ...ANY_CLIENT, caller: 'someone else' }),
      conversationKey(first, { ...ANY_CLIENT, session: 'a session' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('follows the conversation id of the client, whatever the content, for each caller', () => {
    const named = { caller: 'test', session: 'a session' };
    const other = turnRequest({ items: [said('user', 'something else')] });
    expect(conversationKey(other, named)).toBe(conversationKey(first, named));
    expect(conversationKey(first, { ...named, caller: 'other' })).not.toBe(conversationKey(first, named));
    const own = conversationKey(withKey('mine'), named);
    expect(conversationKey(withKey('mine', { items: other.items }), ANY_CLIENT)).toBe(own);
    expect(own).not.toBe(conversationKey(first, named));
  });

  it('follows the URL of an image, and distinguishes long data URLs without reading all of them', () => {
    const dataUrl = (fill: string, last: string) => `data:image/png;base64,${fill.repeat(100_000)}${last}`;
    const urls = [
      'https://example.org/a.png',
      'https://example.org/b.png',
      dataUrl('A', 'x'),
      dataUrl('A', 'y'),
      dataUrl('B', 'x'),
      dataUrl('A', 'xx'),
    ];
    const keys = urls.map((url) => conversationKey(showed(url), ANY_CLIENT));
    expect(new Set(keys).size).toBe(urls.length);
    expect(urls.map((url) => conversationKey(showed(url), ANY_CLIENT))).toEqual(keys);
  });

  it('hashes only the first of very many values, but always the messages', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 9_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
    );
    const tool = (name: string) => functionTool(name, { parameters: { properties } });
    const asked = (text: string, ...names: readonly string[]) =>
      conversationKey(turnRequest({ tools: names.map(tool), items: [said('user', text)] }), ANY_CLIENT);
    expect(asked('hi', 'a', 'b', 'c')).toBe(asked('hi', 'a', 'b', 'c'));
    expect(
      new Set([asked('hi', 'a', 'b', 'c'), asked('ho', 'a', 'b', 'c'), asked('hi', 'x', 'b', 'c')]).size,
    ).toBe(3);
  });
});
