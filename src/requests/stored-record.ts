import type { RequestSpans } from '../canonical/context/request-trace.ts';
import type { ListedRequest, RequestRow } from '../store/ports/requests.ts';
import type { EndedRequest } from './memory-history.ts';
import type { RequestRecord } from './record.ts';

/** Spans that are kept of one request. */
const MAX_SPANS = 64;

/** The first spans: those at the end of a long list are further calls of the same tools. */
export const boundedSpans = ({ spans, dropped }: RequestSpans): RequestSpans =>
  spans.length <= MAX_SPANS
    ? { spans, dropped }
    : { spans: spans.slice(0, MAX_SPANS), dropped: dropped + spans.length - MAX_SPANS };

/** A request as the store keeps it. */
export const rowOf = ({ record, spans }: EndedRequest, expiresAt: number): RequestRow => ({
  id: record.id,
  requestId: record.requestId,
  responseId: record.responseId,
  instance: record.instance,
  keyId: record.keyId,
  client: record.client,
  model: record.model,
  status: record.status ?? 0,
  errorCode: record.error?.code ?? null,
  expiresAt,
  body: JSON.stringify(record),
  spans: JSON.stringify(spans),
});

/** The record of a row. The id of its key is that of the column: a body keeps the one of its time. */
export const recordIn = ({ body, keyId }: Pick<ListedRequest, 'body' | 'keyId'>): RequestRecord => ({
  ...(JSON.parse(body) as RequestRecord),
  keyId,
});
