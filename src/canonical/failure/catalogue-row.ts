export interface CatalogueEntry {
  readonly status: number;
  /** OpenAI's error type. */
  readonly type: string;
  readonly message: string;
  /** When a client sees this error, for the docs. */
  readonly when: string;
  /** A retry cannot succeed: sends `x-should-retry: false`, which OpenAI clients respect. */
  readonly final?: true;
  /** OpenAI sends `code: null` with it. */
  readonly codeless?: true;
  /** Of a feature's error: who has to act, if its status does not say it. */
  readonly source?: ErrorSource;
  /** Of a feature's error: the one before it in the docs. */
  readonly after?: string;
}

/**
 * Who has to act, or whose limit it was. `client`: the request itself, also if the backend rejected it for what it contains.
 * `key`: what its key may do. `server`: this server. `account`: the login or plan of this server at the backend. `backend`:
 * the backend and the model. The request log shows it, and the errors of usage are counted by it.
 */
export type ErrorSource = 'client' | 'key' | 'server' | 'account' | 'backend';

/** A row: its status, its message for the client, and when a client sees it. */
export const row = (
  status: number,
  message: string,
  when: string,
  more: Partial<CatalogueEntry> = {},
): CatalogueEntry => ({ status, type: typeFor(status), message, when, ...more });

const typeFor = (status: number): string => {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
};
