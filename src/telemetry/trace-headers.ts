import { createTraceState, type SpanContext } from '@opentelemetry/api';

import type { TraceContext } from '../canonical/context/trace.ts';

/** The span that a client sent; its headers were checked when they were read. */
export const spanContextOf = ({ traceparent, tracestate }: TraceContext): SpanContext => {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & SAMPLED,
    isRemote: true,
    ...(tracestate === null ? {} : { traceState: createTraceState(tracestate) }),
  };
};

const SAMPLED = 1;

/** The headers for requests that belong to a span of this trace. */
export const traceContextOf = (
  { traceId, traceFlags, traceState }: SpanContext,
  spanId: string,
): TraceContext => ({
  traceparent: `00-${traceId}-${spanId}-${(traceFlags & SAMPLED).toString(16).padStart(2, '0')}`,
  tracestate: traceState?.serialize() || null,
});
