import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../../test/support/turn-request.ts';
import type { ImageDetail } from '../../canonical/request/item.ts';
import { lostOnLane, needsFullLane } from './lanes.ts';

const tool = { kind: 'function', name: 'f', description: null, parameters: null, strict: null } as const;
const images = (...details: readonly ImageDetail[]) => ({
  kind: 'message' as const,
  role: 'user' as const,
  parts: details.map((detail) => ({ kind: 'image' as const, url: 'data:', detail })),
});
const closely = (part: number) => ({ imageDetail: { item: 0, of: 'content', part } });

describe('what a lane loses', () => {
  const request = turnRequest({
    tools: [tool],
    parallelToolCalls: true,
    items: [images('high', 'auto', 'low')],
  });

  it('is named', () => {
    expect(lostOnLane(request, 'lite', true)).toEqual(['parallelToolCalls', closely(0), closely(2)]);
    expect(lostOnLane(request, 'full', true)).toEqual([]);
    expect(lostOnLane(request, 'full', false)).toEqual([closely(2)]);
  });

  it('is a reason to take the other one', () => {
    expect(needsFullLane(request)).toBe(true);
    expect(needsFullLane(turnRequest({ items: [images('auto')], tools: [tool] }))).toBe(false);
    expect(needsFullLane(turnRequest({ parallelToolCalls: true }))).toBe(false);
  });
});
