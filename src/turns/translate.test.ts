import { describe, expect, it } from 'vitest';

import { gatewayError } from '../canonical/failure/failure.ts';
import type { Rejection } from '../canonical/failure/rejection.ts';
import type { ParsedRequest } from './api.ts';
import { namesWithoutEffect, refusalOf } from './translate.ts';

const ask = {
  ignored: ['made_up'],
  nameOf: (path) => (typeof path === 'string' ? `my ${path}` : 'my item'),
} as Partial<ParsedRequest> as ParsedRequest;
const read = { ...ask, ignored: [] };
const missed: Rejection = { path: 'truncation', kind: 'unsupported_parameter', why: 'has no effect here' };
const wrong: Rejection = { path: { item: 0 }, kind: 'invalid_value', why: 'it is empty.' };

describe('parameters without effect', () => {
  it('are named as the client wrote them', () => {
    expect(namesWithoutEffect(ask, ['user', { item: 3 }])).toEqual(['made_up', 'my user', 'my item']);
  });

  it('are rejected where they must not be ignored, the first one first', () => {
    expect(refusalOf(ask, [], false)).toBeNull();
    expect(refusalOf(ask, [missed, wrong], false)).toEqual(
      gatewayError('unsupported_parameter', {
        param: 'my truncation',
        message: "Unsupported parameter: 'my truncation' has no effect here.",
      }),
    );
    expect(refusalOf(read, [wrong], true)).toEqual(
      gatewayError('invalid_value', { param: 'my item', message: "Invalid 'my item': it is empty." }),
    );
    expect(refusalOf(ask, [wrong], true)).toEqual(
      gatewayError('unsupported_parameter', {
        param: 'made_up',
        message: "Unsupported parameter: 'made_up' has no effect here, and strict parameters are on.",
      }),
    );
  });
});
