import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { messagesToTurn, type ParsedMessages } from '../../src/anthropic/messages/input/to-turn.ts';
import { GatewayError } from '../../src/canonical/failure/failure.ts';
import type { Json } from '../../src/kit/json/json.ts';
import { models, USER } from '../support/messages-ask.ts';

const read = (body: unknown): ParsedMessages =>
  messagesToTurn(body, { models, ignoreClientPrompt: false, isCount: false });

const junk = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
const often = <T>(known: fc.Arbitrary<T>) => fc.oneof({ weight: 30, arbitrary: known }, junk);
/** Null is the same as nothing. */
const rarely = <T>(known: fc.Arbitrary<T>) => fc.option(known, { freq: 1 });
const textBlock = fc.record({ type: fc.constant('text'), text: fc.string() });
const partial = <T extends object>(fields: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  often(fc.record(fields, { requiredKeys: [] }));

const { content } = fc.letrec<{ content: unknown; block: unknown }>((tie) => ({
  content: often(
    fc.oneof(
      { maxDepth: 3 },
      fc.string(),
      fc.array(textBlock, { maxLength: 3 }),
      fc.array(tie('block'), { maxLength: 3 }),
    ),
  ),
  block: partial({
    type: often(
      fc.constantFrom(
        'text',
        'image',
        'document',
        'search_result',
        'tool_use',
        'tool_result',
        'thinking',
        'redacted_thinking',
        'server_tool_use',
        'web_search_tool_result',
        'tool_addition',
        'tool_reference',
      ),
    ),
    text: often(fc.string()),
    title: often(fc.string()),
    context: often(fc.string()),
    source: fc.oneof(
      fc.string(),
      partial({
        type: often(fc.constantFrom('base64', 'url', 'text', 'content', 'file')),
        media_type: often(fc.constantFrom('image/png', 'application/pdf', 'text/plain')),
        data: often(fc.base64String()),
        url: often(fc.webUrl()),
        content: tie('content'),
      }),
    ),
    id: often(fc.constantFrom('a', 'b', 'srvtoolu_ws_1')),
    name: often(fc.constantFrom('f', 'web_search')),
    input: often(fc.dictionary(fc.string(), fc.string())),
    tool_use_id: often(fc.constantFrom('a', 'b')),
    is_error: often(fc.boolean()),
    content: tie('content'),
    thinking: often(fc.string()),
    signature: often(fc.string()),
    citations: junk,
    cache_control: junk,
    tool: junk,
    tool_name: junk,
  }),
}));
const message = often(
  fc.record(
    {
      role: often(fc.constantFrom('system', 'user', 'assistant')),
      content,
      clear_at: fc.constantFrom('next_user_message', 'never'),
      output_config: partial({ effort: often(fc.constantFrom('low', 'max')) }),
    },
    { requiredKeys: ['role', 'content'] },
  ),
);
const thinking = partial({
  type: often(fc.constantFrom('adaptive', 'enabled', 'disabled')),
  budget_tokens: often(fc.nat()),
  display: often(fc.constantFrom('summarized', 'omitted', 'updates')),
});
const body = often(
  fc.record(
    {
      model: often(fc.constant('gpt-6')),
      max_tokens: often(fc.nat()),
      messages: often(fc.array(message, { maxLength: 4 })),
      system: content,
      thinking: rarely(thinking),
      output_config: rarely(partial({ effort: often(fc.constant('high')), format: rarely(junk) })),
      output_format: rarely(junk),
      stop_sequences: rarely(fc.array(often(fc.string()), { maxLength: 3 })),
      metadata: rarely(partial({ user_id: often(fc.json()) })),
      context_management: rarely(partial({ edits: often(fc.array(junk, { maxLength: 2 })) })),
      tools: rarely(junk),
      tool_choice: rarely(junk),
      thread: rarely(junk),
      container: rarely(junk),
      speed: rarely(junk),
    },
    { requiredKeys: ['model', 'max_tokens', 'messages'] },
  ),
);

describe('any body of the Messages API', () => {
  it('is translated or rejected with 400, and never throws anything else', () => {
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(body, (one) => {
        try {
          const { request, names } = read(one);
          expect(names.places.length).toBe(request.items.length);
          seen.taken += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          const { failure } = error as GatewayError;
          expect([failure.status, failure.message === '']).toEqual([400, false]);
          seen.refused += 1;
        }
      }),
      { numRuns: 1_000 },
    );
    expect([seen.taken > 0, seen.refused > 0]).toEqual([true, true]);
  });

  it('is translated if its messages are valid, without losing or changing a text', () => {
    const good = fc.record({
      role: fc.constantFrom('system', 'user', 'assistant'),
      content: fc.oneof(fc.string(), fc.array(textBlock, { maxLength: 3 })),
    });
    fc.assert(
      fc.property(fc.array(good, { maxLength: 5 }), (messages) => {
        const { request } = read({ model: 'gpt-6', max_tokens: 1, messages: [...messages, USER] });
        const expected = [...messages, USER].flatMap<{ role: string; texts: readonly string[] }>(
          ({ role, content: given }) => {
            const texts = typeof given === 'string' ? [given] : given.map((one) => one.text);
            const full = texts.filter((one) => one !== '');
            if (role === 'assistant') return full.map((one) => ({ role, texts: [one] }));
            if (full.length === 0) return role === 'user' ? [{ role, texts: [''] }] : [];
            return [{ role, texts: full }];
          },
        );
        const actual = request.items.map((item) =>
          item.kind === 'message'
            ? {
                role: item.role,
                texts: item.parts.map((one) => (one.kind === 'text' ? one.text : one.kind)),
              }
            : item.kind,
        );
        expect(actual).toEqual(expected);
      }),
    );
  });
});
