import { describe, expect, it } from 'vitest';

import { refused } from '../../../../test/support/refused.ts';
import { modelList } from '../../../../test/support/models.ts';
import { createModelNames } from '../../../canonical/models/model-names.ts';
import { parseResponse, toTurnRequest } from './to-turn.ts';

const models = createModelNames(modelList([]));
const read = (some: object) =>
  toTurnRequest(parseResponse({ model: 'm', input: 'hi', ...some }), { models, ignoreClientPrompt: false });

const schema = { type: 'object', properties: { a: { type: 'string' }, b: {} } };
const reordered = { properties: { b: {}, a: { type: 'string' } }, type: 'object' };
const asChat = (inner: object) => ({ type: 'json_schema', json_schema: inner });
const asResponses = (inner: object) => ({ type: 'json_schema', ...inner });
const format = { kind: 'json-schema', name: 'answer', description: null, schema, strict: true };

describe('response_format', () => {
  it.each([
    ['in the form of Chat', asChat, 'response_format.json_schema.schema'],
    ['in the form of Responses', asResponses, 'response_format.schema'],
  ])('%s is read like text.format', (_, form, formatPlace) => {
    const read_ = read({
      response_format: form({ name: 'answer', schema, strict: true }),
      text: { verbosity: 'low' },
    });
    expect([read_.request.format, read_.parsed.text, read_.formatPlace, read_.names.settings.format]).toEqual(
      [
        format,
        {
          verbosity: 'low',
          format: { type: 'json_schema', name: 'answer', schema, strict: true },
        },
        formatPlace,
        'response_format',
      ],
    );
    expect(read_.ignored).toEqual([]);
  });

  it.each([['text'], ['json_object']])('%s needs no schema', (type) => {
    expect(read({ response_format: { type } }).request.format.kind).toBe(type.replace('_', '-'));
  });

  it('may repeat text.format', () => {
    const both = {
      response_format: asChat({ name: 'answer', schema, strict: true }),
      text: { format: asResponses({ name: 'answer', schema: reordered, strict: true }) },
    };
    expect(read(both).request.format).toEqual(format);
  });

  it.each([
    [
      { response_format: { type: 'json_object' }, text: { format: { type: 'text' } } },
      'invalid_value',
      'response_format',
    ],
    [
      {
        response_format: asChat({ name: 'answer', schema }),
        text: { format: asResponses({ name: 'other', schema }) },
      },
      'invalid_value',
      'response_format',
    ],
    [
      { response_format: asChat({ schema }) },
      'missing_required_parameter',
      'response_format.json_schema.name',
    ],
    [
      { response_format: asChat({ name: 'answer' }) },
      'missing_required_parameter',
      'response_format.json_schema.schema',
    ],
    [{ response_format: asResponses({ schema }) }, 'missing_required_parameter', 'response_format.name'],
    [{ response_format: { type: 'xml' } }, 'invalid_value', 'response_format.type'],
  ])('rejects %j', (some, code, param) => {
    expect(refused(() => read(some))).toMatchObject({ status: 400, code, param });
  });
});
