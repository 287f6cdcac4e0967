import { describe, expect, it } from 'vitest';

import { gatewayError } from '../failure/failure.ts';
import { measured, NO_TRACE, type TraceContext } from './trace.ts';
import { MAX_SPANS, RequestTrace } from './request-trace.ts';

/** A trace whose clock a test sets. */
const traced = (contexts: readonly TraceContext[] = []) => {
  const clock = { nowMs: 0 };
  let ids = 0;
  const identify = () => {
    ids += 1;
    return { id: `id-${ids}`, traceContext: contexts[ids - 1] ?? { traceparent: '', tracestate: null } };
  };
  const trace = new RequestTrace({
    recorder: NO_TRACE,
    now: () => clock.nowMs,
    distributed: contexts.length === 0 ? null : { identify },
  });
  return { trace, clock };
};

describe('the trace of a request', () => {
  it('measures parts and their parts, also at the same time', () => {
    const { trace, clock } = traced();
    const [first, second] = [trace.begin('attempt', { nth: 1 }), trace.begin('attempt', { nth: 2 })];
    clock.nowMs = 1.0004;
    const sent = second.begin('model-request');
    first.end();
    clock.nowMs = 2;
    sent.note({ status: 200 });
    sent.end({ transport: 'http' });
    clock.nowMs = 3;
    second.end({ error: 'worker_lost' });
    expect(trace.finish()).toEqual({
      spans: [
        { name: 'attempt', parent: null, startMs: 0, endMs: 1, facts: { nth: 1 } },
        { name: 'attempt', parent: null, startMs: 0, endMs: 3, facts: { nth: 2, error: 'worker_lost' } },
        { name: 'model-request', parent: 1, startMs: 1, endMs: 2, facts: { status: 200, transport: 'http' } },
      ],
      dropped: 0,
    });
  });

  it('counts only the first end of a part, and ends the open ones itself', () => {
    const { trace, clock } = traced();
    const queue = trace.begin('queue');
    const tool = trace.begin('tool');
    queue.end({ error: 'a' });
    clock.nowMs = 5;
    queue.end({ error: 'b' });
    queue.note({ more: true });
    const finished = trace.finish();
    expect(finished.spans).toEqual([
      { name: 'queue', parent: null, startMs: 0, endMs: 0, facts: { error: 'a' } },
      { name: 'tool', parent: null, startMs: 0, endMs: 5, facts: { isUnfinished: true } },
    ]);
    clock.nowMs = 9;
    tool.end();
    expect(trace.finish()).toEqual(finished);
  });

  it('has a limited length, and counts what is left out', () => {
    const { trace } = traced();
    for (let nth = 0; nth < MAX_SPANS + 2; nth += 1) trace.begin('attempt').begin('tool').end();
    const { spans, dropped } = trace.finish();
    expect([spans.length, dropped]).toEqual([MAX_SPANS, MAX_SPANS + 4]);
    expect(spans.every(({ parent }) => parent === null || parent < MAX_SPANS)).toBe(true);
  });

  it('gives a part an id when something is sent in it, and only then', () => {
    const context = { traceparent: '00-a-b-01', tracestate: 'c=d' };
    const { trace } = traced([context]);
    trace.begin('plan').end();
    const request = trace.begin('model-request');
    expect([request.traceContext, request.traceContext]).toEqual([context, context]);
    request.end();
    expect(trace.finish().spans.map(({ id }) => id)).toEqual([undefined, 'id-1']);
  });

  it('has no context for others without a distributed trace', () => {
    expect(traced().trace.begin('model-request').traceContext).toBeNull();
  });
});

describe('measured', () => {
  it('ends the part with the work, or with the code of its failure', async () => {
    const { trace } = traced();
    await expect(measured(trace.begin('queue'), async () => 1)).resolves.toBe(1);
    const failing = measured(trace.begin('queue'), () => Promise.reject(gatewayError('shutting_down')));
    await expect(failing).rejects.toThrow('shutting down');
    expect(trace.finish().spans.map(({ facts }) => facts)).toEqual([{}, { error: 'shutting_down' }]);
  });
});

it('nothing is measured or allocated without a trace', () => {
  const span = NO_TRACE.begin('attempt');
  expect([span === NO_TRACE, span.begin('tool') === NO_TRACE, span.elapsed(), span.traceContext]).toEqual([
    true,
    true,
    0,
    null,
  ]);
});
