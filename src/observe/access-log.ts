import type { RequestEnd } from './request-end.ts';

/** The log line of a request: ids, times and counts. No content and no keys. */
export const toAccessLine = (end: RequestEnd) => ({
  requestId: end.requestId,
  method: end.method,
  route: end.route,
  status: end.status,
  model: end.model,
  stream: end.stream,
  keyId: end.keyId,
  // Under field names that operators already query.
  client:
    end.client === null
      ? null
      : { family: end.client.name, tier: end.client.source, reasons: end.client.reasons },
  named: end.named,
  request: end.request,
  traceparent: end.traceparent,
  copilotTraceId: end.copilotTraceId,
  intercept: end.intercept,
  firstEventMs: end.firstEventMs,
  durationMs: end.durationMs,
  outcome: end.outcome,
  inputTokens: end.usage?.inputTokens ?? null,
  outputTokens: end.usage?.outputTokens ?? null,
  errorCode: end.failure?.code ?? null,
});
