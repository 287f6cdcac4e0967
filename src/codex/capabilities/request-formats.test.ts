import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../../test/support/turn-request.ts';
import type { ImageDetail } from '../../canonical/request/item.ts';
import { lostInFormat, needsResponsesFormat } from './request-formats.ts';

const tool = { kind: 'function', name: 'f', description: null, parameters: null, strict: null } as const;
const images = (...details: readonly ImageDetail[]) => ({
  kind: 'message' as const,
  role: 'user' as const,
  parts: details.map((detail) => ({ kind: 'image' as const, url: 'data:', detail })),
});
const closely = (part: number) => ({ imageDetail: { item: 0, of: 'content', part } });

describe('settings that a request format cannot express', () => {
  const request = turnRequest({
    tools: [tool],
    parallelToolCalls: true,
    items: [images('high', 'auto', 'low')],
  });

  it('are reported', () => {
    expect(lostInFormat(request, 'codex', new Set())).toEqual(['parallelToolCalls', closely(0), closely(2)]);
    expect(lostInFormat(request, 'responses', new Set())).toEqual([]);
    expect(lostInFormat(request, 'responses', new Set(['low']))).toEqual([closely(2)]);
  });

  it('make the request use the other format', () => {
    expect(needsResponsesFormat(request)).toBe(true);
    expect(needsResponsesFormat(turnRequest({ items: [images('auto')], tools: [tool] }))).toBe(false);
    expect(needsResponsesFormat(turnRequest({ parallelToolCalls: true }))).toBe(false);
  });
});
