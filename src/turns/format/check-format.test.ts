import { afterAll, describe, expect, it, vi } from 'vitest';

import { GatewayError } from '../../canonical/failure/failure.ts';
import type { OutputFormat } from '../../canonical/request/turn-request.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import { createFormatChecks, type FormatChecks } from './check-format.ts';

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
const unchecked: string[] = [];
const opened = (timeoutMs: number): FormatChecks =>
  createFormatChecks({
    clock: systemAmbient.clock,
    onUnchecked: (reason) => void unchecked.push(reason),
    times: { timeoutMs, waitMs: 30_000 },
  });
const [checks, hurried] = [opened(30_000), opened(50)];
afterAll(() => Promise.all([checks.close(), hurried.close()]));

const verdicts = async (
  format: OutputFormat,
  texts: readonly string[],
  by = checks,
): Promise<readonly unknown[]> => {
  const check = await by.of(format, 'text.format.schema', 'a');
  return Promise.all(texts.map(async (text) => check?.(text)));
};

/** Each reference leads to two others: 2^length steps. */
const doubling = (length: number): JsonObject => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, index === length - 1 ? { type: 'string' } : { allOf: [next, next] }];
    }),
  ),
});

describe('checkFormat', () => {
  it('checks nothing without a format', async () => {
    expect(await checks.of({ kind: 'text' }, 'text.format.schema', 'a')).toBeNull();
  });

  it('gives up on a check that does not end, and on a schema that is too large', async () => {
    unchecked.length = 0;
    const endless = ofSchema(doubling(60));
    expect(await verdicts(endless, ['1'])).toEqual([false]);
    // A busy machine may be late for the schema, too.
    expect(await verdicts(endless, ['"a"'], hurried)).not.toContain(true);
    const wide = { enum: Array.from({ length: 100_000 }, (_, index) => index) };
    expect(await checks.of(ofSchema(wide), 'p', 'a')).toBeNull();
    expect(unchecked).toEqual(['late', 'too_large']);
    expect(await verdicts(ofSchema(PERSON), ['{"name":"Ada"}'])).toEqual([true]);
  });

  it('says what is wrong with a text', async () => {
    const problems = ['{"name":"Ada"}', '{"name":5}', '{', '{"name":"Ada","x":1}'].map((text) =>
      checks.problemWith(text, PERSON, 'a'),
    );
    expect(await Promise.all(problems)).toEqual([
      null,
      'value/name must be string',
      expect.stringMatching(/^not valid JSON/),
      'value must NOT have additional properties',
    ]);
    // An invalid schema is not reported here: the backend rejects it.
    expect(await checks.problemWith('{}', { type: 'nonsense' }, 'a')).toBeNull();
  });

  it('gives up on a schema that compiles too slowly, and remembers it', async () => {
    unchecked.length = 0;
    const names = Array.from({ length: 4_000 }, (_, index) => `p${index}`);
    const anyOf = { anyOf: [{ type: 'string' }, { type: 'null' }] };
    const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, anyOf])) };
    expect(await hurried.of(ofSchema(schema), 'p', 'a')).toBeNull();
    expect(await hurried.of(ofSchema(schema), 'p', 'a')).toBeNull();
    expect(unchecked).toEqual(['late', 'late']);
  });

  it('json_object: accepts only an object', async () => {
    const texts = ['{}', '{"a":1}', ' {"a":1}\n', '[]', '"a"', '1', 'null', '', '{"a":', 'Here: {}'];
    expect(await verdicts({ kind: 'json-object' }, texts)).toEqual([
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

  it('json_object: an answer is not parsed on the main loop', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    expect(await verdicts({ kind: 'json-object' }, [`{"a":"${'x'.repeat(1_000_000)}"}`])).toEqual([true]);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('json_schema: validates the schema including formats', async () => {
    const texts = ['{"name":"Ada"}', '{"name":"Ada","mail":"ada@example.org"}', '{"name":"Ada","mail":"no"}'];
    expect(await verdicts(ofSchema(PERSON), texts)).toEqual([true, true, false]);
    expect(await verdicts(ofSchema(PERSON), ['{}', '{"name":"Ada","age":1}', '', 'null'])).toEqual([
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
  ])('accepts a schema that names its dialect: %s', async ($schema) => {
    expect(await verdicts(ofSchema({ $schema, ...PERSON }), ['{"name":"Ada"}', '{}'])).toEqual([true, false]);
  });

  it('ignores $async', async () => {
    expect(await verdicts(ofSchema({ $async: true, ...PERSON }), ['{"name":"Ada"}', '{}'])).toEqual([
      true,
      false,
    ]);
  });

  it('separates schemas of two requests with the same $id', async () => {
    const first = await checks.of(ofSchema({ $id: 'x', type: 'string' }), 'p', 'a');
    const second = await checks.of(ofSchema({ $id: 'x', type: 'number' }), 'p', 'a');
    const said = [await first?.('"a"'), await first?.('1'), await second?.('"a"'), await second?.('1')];
    expect(said).toEqual([true, false, false, true]);
  });

  it('does not run patterns of a schema', async () => {
    const texts = [JSON.stringify(`${'a'.repeat(60)}!`), '1'];
    expect(await verdicts(ofSchema({ type: 'string', pattern: '^(a+)+$' }), texts)).toEqual([true, false]);
  });

  it.each([
    ['a type that does not exist', { type: 'person' }],
    ['a reference into nowhere', { $ref: '#/$defs/none' }],
    ['a reference to the network', { $ref: 'https://example.org/schema.json' }],
    ['an invalid pattern', { type: 'string', pattern: '(' }],
  ])('rejects %s as a client error', async (_, schema) => {
    const thrown = await checks
      .of(ofSchema(schema), 'text.format.schema', 'a')
      .catch((error: unknown) => error);
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
