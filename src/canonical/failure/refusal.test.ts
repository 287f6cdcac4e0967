import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../../test/support/turn-request.ts';
import type { Path } from '../request/path.ts';
import { isDemanded, NO_EFFECT_IN_STRICT, refusedAmong } from './refusal.ts';

const logprobs: Path = { include: 'message.output_text.logprobs' };
const ignored: readonly Path[] = ['truncation', 'logprobs.top', logprobs, { include: 'other' }, { item: 2 }];
const refused = (path: Path, why = NO_EFFECT_IN_STRICT) => ({ path, kind: 'unsupported_parameter', why });
const needy = turnRequest({ logprobs: { top: 2, isNeeded: true } });

describe('what a request cannot do without', () => {
  it('is nothing by itself', () => {
    expect(refusedAmong(turnRequest(), ignored)).toEqual([]);
  });

  it('is log probabilities, where the answer has a place for them', () => {
    const why = 'has no effect here';
    expect(refusedAmong(needy, ignored)).toEqual([refused('logprobs.top', why), refused(logprobs, why)]);
    expect(ignored.map((path) => isDemanded(needy, path))).toEqual([false, true, true, false, false]);
  });

  it('is everything where parameters are strict', () => {
    expect(refusedAmong(turnRequest({ isStrict: true }), ignored)).toEqual(
      ignored.map((path) => refused(path)),
    );
    expect(refusedAmong(turnRequest({ isStrict: true }), [{ formatField: 'name' }])).toEqual([]);
    expect(isDemanded(turnRequest({ isStrict: true }), { formatField: 'name' })).toBe(false);
    const paths = refusedAmong({ ...needy, isStrict: true }, ignored).map(({ path }) => path);
    expect(paths).toEqual(['logprobs.top', logprobs, 'truncation', { include: 'other' }, { item: 2 }]);
  });
});
