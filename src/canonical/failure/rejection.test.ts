import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../../test/support/turn-request.ts';
import type { Path } from '../request/path.ts';
import { mustHaveEffect, NO_EFFECT_IN_STRICT, rejectionsFor } from './rejection.ts';

const logprobs: Path = { include: 'message.output_text.logprobs' };
const ignored: readonly Path[] = ['truncation', 'logprobs.top', logprobs, { include: 'other' }, { item: 2 }];
const refused = (path: Path, why = NO_EFFECT_IN_STRICT) => ({ path, kind: 'unsupported_parameter', why });
const needy = turnRequest({ logprobs: { top: 2, isNeeded: true } });

describe('rejectionsFor', () => {
  it('rejects nothing by default', () => {
    expect(rejectionsFor(turnRequest(), ignored)).toEqual([]);
  });

  it('rejects log probabilities without effect if the API needs them', () => {
    const why = 'has no effect here';
    expect(rejectionsFor(needy, ignored)).toEqual([refused('logprobs.top', why), refused(logprobs, why)]);
    expect(ignored.map((path) => mustHaveEffect(needy, path))).toEqual([false, true, true, false, false]);
  });

  it('rejects everything without effect if parameters are strict', () => {
    expect(rejectionsFor(turnRequest({ isStrict: true }), ignored)).toEqual(
      ignored.map((path) => refused(path)),
    );
    expect(rejectionsFor(turnRequest({ isStrict: true }), [{ formatField: 'name' }])).toEqual([]);
    expect(mustHaveEffect(turnRequest({ isStrict: true }), { formatField: 'name' })).toBe(false);
    const paths = rejectionsFor({ ...needy, isStrict: true }, ignored).map(({ path }) => path);
    expect(paths).toEqual(['logprobs.top', logprobs, 'truncation', { include: 'other' }, { item: 2 }]);
  });
});
