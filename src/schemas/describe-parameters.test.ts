import { describe, expect, it } from 'vitest';

import { describeParameters } from './describe-parameters.ts';

describe('describeParameters', () => {
  it('has a line for each parameter, nested ones below', () => {
    expect(
      describeParameters({
        type: 'object',
        properties: {
          city: { type: 'string', description: 'Where\n  to look.' },
          days: { type: ['integer', 'null'] },
          unit: { enum: ['c', 'f'] },
          version: { const: 2 },
          places: {
            type: 'array',
            items: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] },
          },
          tags: { type: 'array', items: { type: 'string' } },
          who: { anyOf: [{ $ref: '#/$defs/person' }, { type: 'null' }], description: 'Asks.' },
          more: { type: 'object', additionalProperties: { type: 'integer' } },
        },
        required: ['city', 'who'],
        $defs: {
          person: {
            type: 'object',
            properties: { name: { type: 'string' }, friend: { $ref: '#/$defs/person' } },
            required: ['name'],
          },
        },
      }),
    ).toEqual([
      '- city (string, required): Where to look.',
      '- days (integer or null, optional)',
      '- unit (optional, one of "c", "f")',
      '- version (optional, always 2)',
      '- places (array of object, optional)',
      '  - lat (number, required)',
      '- tags (array of string, optional)',
      '- who (object or null, required): Asks.',
      '  - name (string, required)',
      '  - friend (optional)',
      '- more (object, optional)',
      '  - any other name (integer, optional)',
    ]);
  });

  it('reports that there are none', () => {
    expect(describeParameters({ type: 'object', properties: {} })).toEqual(['- none']);
    expect(describeParameters({ $ref: '#' })).toEqual(['- none']);
  });

  it('is limited for wide and recursive schemas', () => {
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`p${index}`, {}]));
    const lines = describeParameters({ properties: wide });
    expect([lines.length, lines.at(-1)]).toEqual([201, '- more: see the schema']);
    const loop = { $ref: '#/$defs/a' };
    const branches = Array.from({ length: 30 }, () => ({ anyOf: [loop, loop] }));
    const lost = { anyOf: branches, $defs: { a: { anyOf: branches, properties: { x: loop } } } };
    expect(describeParameters(lost).length).toBeLessThan(202);
  });
});
