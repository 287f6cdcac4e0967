import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { isJsonObject } from '../kit/json/json.ts';
import { guideTo } from './describe-parameters.ts';
import { createThreadedGuide, type ThreadedGuide } from './threaded-guide.ts';

const open: ThreadedGuide[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((guide) => guide.close()));
});
/** `tick`: how far the clock advances with each reading. */
const openGuide = (timeoutMs = 20_000, tick = 0) => {
  const unexplained: string[] = [];
  let now = 0;
  const guide = createThreadedGuide({
    clock: { now: () => (now += tick) },
    onUnexplained: (reason) => unexplained.push(reason),
    times: { timeoutMs, waitMs: 20_000 },
  });
  open.push(guide);
  return { guide, unexplained };
};

const CITY = JSON.stringify({ properties: { city: { type: 'string' } }, required: ['city'] });
const ABOUT_CITY = { parameters: ['- city (string, required)'], example: '{"city":"example"}' };
/** Takes practically for ever. */
const ENDLESS = JSON.stringify({
  properties: { a: { type: 'string', minLength: 40, pattern: '^(([a-z])+)+([a-z]+)+[A-Z]$' } },
  required: ['a'],
});

describe('createThreadedGuide', () => {
  it('describes schemas, and caches them', async () => {
    const { guide, unexplained } = openGuide();
    expect(await guide.guide([CITY, '{}'], 'a')).toEqual([
      ABOUT_CITY,
      { parameters: ['- none'], example: '{}' },
    ]);
    await guide.close();
    expect(await guide.guide([CITY], 'a')).toEqual([ABOUT_CITY]);
    expect(unexplained).toEqual([]);
  });

  it('gives up on a slow schema, and on those after it in the same request', async () => {
    const { guide, unexplained } = openGuide(300);
    expect(await guide.guide([ENDLESS, CITY], 'a')).toEqual([null, null]);
    expect(unexplained).toEqual(['late', 'late']);
    expect(await guide.guide([ENDLESS, CITY], 'a')).toEqual([null, ABOUT_CITY]);
    expect(unexplained).toEqual(['late', 'late']);
  });

  it('stops after the time limit of a request', async () => {
    const { guide, unexplained } = openGuide(20_000, 400);
    const schemas = Array.from({ length: 9 }, (_, index) => JSON.stringify({ title: index }));
    expect((await guide.guide(schemas, 'a')).at(-1)).toBeNull();
    expect(unexplained).toContain('late');
  });

  it('skips schemas that are too large', async () => {
    const { guide, unexplained } = openGuide();
    expect(await guide.guide([JSON.stringify({ title: 'x'.repeat(70_000) })], 'a')).toEqual([null]);
    expect(unexplained).toEqual(['too_large']);
  });
});

describe('guideTo', () => {
  it('is null for a schema that is too deep', () => {
    const deep = `${'{"items":'.repeat(20_000)}{}${'}'.repeat(20_000)}`;
    expect(guideTo(`{"properties":{"a":${deep}},"required":["a"]}`)).toBeNull();
    expect(guideTo('{"$ref":"#/%"}')).toEqual({ parameters: ['- none'], example: null });
    expect(guideTo('[]')).toBeNull();
  });

  it('has a valid example, if any', () => {
    const ajv = new Ajv2020({ strict: false });
    const leaf = fc.constantFrom(
      { type: 'string', minLength: 3 },
      { type: 'integer', minimum: 7 },
      { enum: ['a', 1, null] },
      { type: 'array', items: { type: 'boolean' }, minItems: 2 },
      { type: 'string', pattern: '^q{7}$' },
      { anyOf: [{ type: 'null' }, { type: 'object', required: ['x'] }] },
    );
    const schema = fc.dictionary(fc.string({ maxLength: 4 }), leaf, { maxKeys: 4 }).chain((properties) =>
      fc.record({
        type: fc.constant('object'),
        properties: fc.constant(properties),
        required: fc.subarray(Object.keys(properties)),
        additionalProperties: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(schema, (one) => {
        const example = guideTo(JSON.stringify(one))?.example ?? null;
        const value: unknown = example === null ? null : JSON.parse(example);
        expect(example === null || (isJsonObject(value) && ajv.validate(one, value))).toBe(true);
      }),
      { numRuns: 60, seed: 3 },
    );
  });
});
