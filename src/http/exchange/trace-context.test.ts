import { describe, expect, it } from 'vitest';

import { loggedTraces, traceOf } from './trace-context.ts';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const VALID = `00-${ID}-${PARENT}-01`;
const parentOf = (traceparent: string): string | null =>
  traceOf(new Headers({ traceparent }))?.traceparent ?? null;
const stateOf = (tracestate: string): string | null | undefined =>
  traceOf(new Headers({ traceparent: VALID, tracestate }))?.tracestate;

describe('traceOf', () => {
  it.each([VALID, `00-${ID}-${PARENT}-00`, `cc-${ID}-${PARENT}-01`, `01-${ID}-${PARENT}-01-what-is-new`])(
    'reads %s as it is',
    (value) => {
      expect(parentOf(value)).toBe(value);
    },
  );

  it.each([
    '',
    'x',
    VALID.toUpperCase(),
    `${VALID}-more`,
    `${VALID}, ${VALID}`,
    `ff-${ID}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${ID}-${'0'.repeat(16)}-01`,
    `00-${ID.slice(1)}-${PARENT}-01`,
    `01-${ID}-${PARENT}-01-${'x'.repeat(300)}`,
  ])('rejects %j', (value) => {
    expect(parentOf(value)).toBeNull();
  });

  it('reads tracestate only with traceparent', () => {
    expect(traceOf(new Headers({ tracestate: 'a=b' }))).toBeNull();
    expect(traceOf(new Headers({ traceparent: VALID }))).toEqual({ traceparent: VALID, tracestate: null });
    for (const state of ['a=b', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'fw529a3039@dt=x y, ,b=1']) {
      expect(stateOf(state)).toBe(state);
    }
  });

  it.each(['no entry', 'a=b=c', 'A=b', 'a=', `a=${'x'.repeat(600)}`, Array(40).fill('a=b').join(',')])(
    'drops a state that is not valid: %s',
    (state) => {
      expect(stateOf(state)).toBeNull();
    },
  );
});

describe('loggedTraces', () => {
  it('returns short, plain values or null', () => {
    const headers = new Headers({ traceparent: VALID, tracestate: 'a=b', 'x-copilot-trace-id': 'trace_1:2' });
    expect(loggedTraces(headers)).toEqual({ traceparent: VALID, copilotTraceId: 'trace_1:2' });
    for (const id of ['', 'two words', '{"a":1}', 'x'.repeat(129)]) {
      expect(loggedTraces(new Headers({ 'x-copilot-trace-id': id, traceparent: id }))).toEqual({
        traceparent: null,
        copilotTraceId: null,
      });
    }
  });
});
