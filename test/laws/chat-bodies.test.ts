import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../src/canonical/failure/failure.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { Json } from '../../src/kit/json/json.ts';
import { chatToTurn, type ParsedChat } from '../../src/openai/chat/to-turn.ts';
import { knownModel, modelList } from '../support/models.ts';

const models = createModelNames(modelList([knownModel('gpt-5.5')]));
const user = { role: 'user', content: 'hi' };
const read = (body: unknown): ParsedChat => chatToTurn(body, { models, ignoreClientPrompt: false });

describe('any body at all', () => {
  const junk = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
  const often = <T>(known: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary: known }, junk);
  const part = often(
    fc.record(
      {
        type: often(fc.constantFrom('text', 'image_url', 'input_audio', 'file', 'refusal', 'input_text')),
        text: often(fc.string()),
        refusal: often(fc.string()),
        image_url: often(fc.record({ url: often(fc.webUrl()), detail: junk }, { requiredKeys: [] })),
        input_audio: often(fc.record({ data: often(fc.base64String()), format: often(fc.constant('wav')) })),
        file: often(fc.record({ file_data: often(fc.base64String()), filename: junk }, { requiredKeys: [] })),
      },
      { requiredKeys: [] },
    ),
  );
  const call = often(
    fc.record(
      {
        id: often(fc.constantFrom('a', 'b')),
        type: often(fc.constantFrom('function', 'custom')),
        function: often(fc.record({ name: often(fc.constant('f')), arguments: often(fc.string()) })),
        custom: often(fc.record({ name: often(fc.constant('f')), input: often(fc.string()) })),
      },
      { requiredKeys: [] },
    ),
  );
  const message = often(
    fc.record(
      {
        role: often(fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function')),
        content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), junk),
        name: often(fc.constant('f')),
        refusal: often(fc.string()),
        tool_calls: often(fc.array(call, { maxLength: 2 })),
        tool_call_id: often(fc.constantFrom('a', 'b')),
        function_call: often(fc.record({ name: fc.constant('f'), arguments: fc.string() })),
      },
      { requiredKeys: ['role'] },
    ),
  );
  const body = often(
    fc.record(
      {
        model: often(fc.constant('m')),
        messages: often(fc.array(message, { maxLength: 4 })),
        prompt: often(fc.string()),
        tools: junk,
        tool_choice: junk,
        response_format: junk,
        stop: junk,
        functions: junk,
        reasoning: junk,
      },
      { requiredKeys: ['model', 'messages'] },
    ),
  );

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
      { numRuns: 3000 },
    );
    expect(seen.refused).toBeGreaterThan(0);
  });

  it('is translated if its messages are valid', () => {
    const text = fc.record({ type: fc.constant('text'), text: fc.string() });
    const good = fc.record({
      role: fc.constantFrom('system', 'developer', 'user', 'assistant'),
      content: fc.oneof(fc.string(), fc.array(text, { minLength: 1, maxLength: 3 })),
    });
    fc.assert(
      fc.property(fc.array(good, { maxLength: 5 }), (messages) => {
        const { request } = read({ model: 'm', messages: [...messages, user] });
        // Roles and texts keep their order; an empty assistant message is dropped.
        const expected = [...messages, user].flatMap(({ role, content }) => {
          const texts = typeof content === 'string' ? [content] : content.map((one) => one.text);
          return role === 'assistant' && texts.every((one) => one === '') ? [] : [{ role, texts }];
        });
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
