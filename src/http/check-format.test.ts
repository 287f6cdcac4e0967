import { describe, expect, it } from 'vitest';

import { GatewayError } from '../canonical/failure.ts';
import type { OutputFormat } from '../canonical/turn-request.ts';
import type { JsonObject } from '../kit/json.ts';
import { checkFormat } from './check-format.ts';

const ofSchema = (schema: JsonObject): OutputFormat => ({
  kind: 'json-schema',
  name: 'person',
  description: null,
  schema,
  strict: true,
});
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, mail: { type: 'string', format: 'email' } },
  required: ['name'],
  additionalProperties: false,
};
const verdicts = (format: OutputFormat, texts: readonly string[]): readonly unknown[] =>
  texts.map((text) => checkFormat(format, 'text.format.schema')?.(text));

describe('checkFormat', () => {
  it('has nothing to check where no format was asked for', () => {
    expect(checkFormat({ kind: 'text' }, 'text.format.schema')).toBeNull();
  });

  it('json_object: an object and nothing else', () => {
    const texts = ['{}', '{"a":1}', ' {"a":1}\n', '[]', '"a"', '1', 'null', '', '{"a":', 'Here: {}'];
    expect(verdicts({ kind: 'json-object' }, texts)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('json_schema: what the schema allows, formats too', () => {
    const texts = ['{"name":"Ada"}', '{"name":"Ada","mail":"ada@example.org"}', '{"name":"Ada","mail":"no"}'];
    expect(verdicts(ofSchema(PERSON), texts)).toEqual([true, true, false]);
    expect(verdicts(ofSchema(PERSON), ['{}', '{"name":"Ada","age":1}', '', 'null'])).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it.each([
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
    'https://example.org/own-dialect',
  ])('takes a schema that names its dialect: %s', ($schema) => {
    expect(verdicts(ofSchema({ $schema, ...PERSON }), ['{"name":"Ada"}', '{}'])).toEqual([true, false]);
  });

  it('answers at once also where the schema asks for a promise', () => {
    expect(verdicts(ofSchema({ $async: true, ...PERSON }), ['{"name":"Ada"}', '{}'])).toEqual([true, false]);
  });

  it('keeps schemas of two requests apart, also with the same $id', () => {
    const first = checkFormat(ofSchema({ $id: 'x', type: 'string' }), 'p');
    const second = checkFormat(ofSchema({ $id: 'x', type: 'number' }), 'p');
    expect([first?.('"a"'), first?.('1'), second?.('"a"'), second?.('1')]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  it('does not run a pattern of a stranger', () => {
    const check = checkFormat(ofSchema({ type: 'string', pattern: '^(a+)+$' }), 'p');
    expect([check?.(JSON.stringify(`${'a'.repeat(60)}!`)), check?.('1')]).toEqual([true, false]);
  });

  it.each([
    ['a type that does not exist', { type: 'person' }],
    ['a reference into nowhere', { $ref: '#/$defs/none' }],
    ['a reference to the network', { $ref: 'https://example.org/schema.json' }],
    ['a pattern that is none', { type: 'string', pattern: '(' }],
  ])('refuses %s as the mistake of the client', (_, schema) => {
    let thrown: unknown;
    try {
      checkFormat(ofSchema(schema), 'text.format.schema');
    } catch (error) {
      thrown = error;
    }
    expect(thrown instanceof GatewayError ? thrown.failure : thrown).toEqual({
      kind: 'invalid_value',
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_json_schema',
      message: expect.stringMatching(/^Invalid schema for response format 'person': .+\.$/),
      param: 'text.format.schema',
      retryAfterSeconds: null,
      headers: {},
    });
  });
});
