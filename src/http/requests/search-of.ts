import type { RequestQuery } from '../../openai/shared/request-query.ts';
import { idPrefixAt } from '../../requests/record.ts';
import type { RequestSearch } from '../../store/ports/requests.ts';

const DEFAULT_LIMIT = 50;

export interface AskedSearch {
  /** Those that run, in place of those that have ended. */
  readonly isRunning: boolean;
  /** How many are shown; the search looks for one more. */
  readonly limit: number;
  readonly search: RequestSearch;
}

/** What the query of a client means for the log. */
export const searchOf = (query: RequestQuery): AskedSearch => {
  const { status, after, to } = query;
  const limit = query.limit ?? DEFAULT_LIMIT;
  const end = to === null ? null : idPrefixAt(to * 1000);
  return {
    isRunning: status === 'running',
    limit,
    search: {
      result: status === 'ok' || status === 'failed' ? status : null,
      status: statusRange(status),
      errorCode: query.error,
      model: query.model,
      keyId: query.key,
      client: query.client,
      text: query.q,
      from: query.from === null ? null : idPrefixAt(query.from * 1000),
      before: after === null || (end !== null && end < after) ? end : after,
      limit: limit + 1,
    },
  };
};

const statusRange = (status: string | null): RequestSearch['status'] => {
  if (status === null || !/^\d/.test(status)) return null;
  if (!status.endsWith('xx')) return { from: Number(status), below: Number(status) + 1 };
  const from = Number(status[0]) * 100;
  return { from, below: from + 100 };
};
