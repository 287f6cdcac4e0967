import { describe, expect, it } from 'vitest';

import { requestEnd } from './request-end.ts';
import { allObservers, type RequestObserver } from './request-observer.ts';

const REQUEST = {
  requestId: 'r',
  method: 'POST',
  route: '/r',
  startedAt: 1,
  backgroundId: null,
  traceContext: null,
};
const END = requestEnd(REQUEST, { status: 200 }, 2);

describe('allObservers', () => {
  it('tells every observer that opened a watch, and reports what one of them throws', () => {
    const seen: unknown[] = [];
    const errors: unknown[] = [];
    const seeing: RequestObserver = {
      open: (request) => ({
        note: (notes) => seen.push(['note', request, notes]),
        end: (end) => seen.push(['end', end]),
      }),
    };
    const broken: RequestObserver = {
      open: () => ({
        note() {
          throw new Error('note');
        },
      }),
    };
    const closed: RequestObserver = {
      open() {
        throw new Error('open');
      },
    };
    const all = allObservers([closed, broken, { open: () => null }, seeing], (error) => errors.push(error));
    const watch = all.open(REQUEST);
    watch?.note?.({ model: 'm' });
    watch?.end?.(END);
    expect(seen).toEqual([
      ['note', REQUEST, { model: 'm' }],
      ['end', END],
    ]);
    expect(errors).toEqual([new Error('open'), new Error('note')]);
  });
});
