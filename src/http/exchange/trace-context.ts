import type { TraceContext } from '../../canonical/context/trace.ts';

const TRACEPARENT = 'traceparent';
const TRACESTATE = 'tracestate';
const COPILOT_TRACE = 'x-copilot-trace-id';

/** Every header read here. */
export const TRACE_HEADERS: readonly string[] = [TRACEPARENT, TRACESTATE, COPILOT_TRACE];

/** Version, trace id, parent id and flags; a version after 00 may append further fields. */
const PARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-[\w-]{1,200})?$/;

/** The trace that a request belongs to (W3C Trace Context); null where the header is absent or invalid. */
export const traceOf = (headers: Headers): TraceContext | null => {
  const traceparent = headers.get(TRACEPARENT);
  if (traceparent === null || !isTraceparent(traceparent)) return null;
  const tracestate = headers.get(TRACESTATE);
  return { traceparent, tracestate: tracestate !== null && isTracestate(tracestate) ? tracestate : null };
};

const isTraceparent = (value: string): boolean => {
  const [, version, traceId = '', parentId = '', further] = PARENT.exec(value) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && further !== undefined)) return false;
  return !/^0+$/.test(traceId) && !/^0+$/.test(parentId);
};

/** Limits of the standard for `tracestate`. */
const MAX_STATE_CHARS = 512;
const MAX_STATE_ENTRIES = 32;
const STATE_ENTRY = /^[a-z\d][\w*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

const isTracestate = (value: string): boolean => {
  if (value.length > MAX_STATE_CHARS) return false;
  const entries = value.split(',').map((entry) => entry.trim());
  // Empty entries are allowed.
  return (
    entries.length <= MAX_STATE_ENTRIES && entries.every((entry) => entry === '' || STATE_ENTRY.test(entry))
  );
};

/** Safe in a log line. */
const SANE = /^[\w.:-]{1,128}$/;

/** The trace ids of a request for its access log line. `tracestate` is not logged. */
export const loggedTraces = (
  headers: Headers,
): { readonly traceparent: string | null; readonly copilotTraceId: string | null } => {
  const copilot = headers.get(COPILOT_TRACE);
  return {
    traceparent: traceOf(headers)?.traceparent ?? null,
    copilotTraceId: copilot !== null && SANE.test(copilot) ? copilot : null,
  };
};
