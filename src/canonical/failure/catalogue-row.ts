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
}

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
