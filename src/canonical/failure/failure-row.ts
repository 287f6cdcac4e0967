/** The OpenAI error types in use. */
export const TYPES = {
  invalid: 'invalid_request_error',
  rate: 'rate_limit_error',
  quota: 'insufficient_quota',
  image: 'image_generation_user_error',
  server: 'server_error',
  connector: 'external_connector_error',
} as const;

export interface CatalogueEntry {
  readonly status: number;
  readonly type: (typeof TYPES)[keyof typeof TYPES];
  readonly message: string;
  /** When a client sees this error, for the docs. */
  readonly when: string;
  /** A retry cannot succeed: sends `x-should-retry: false`, which OpenAI clients respect. */
  readonly final?: true;
}
