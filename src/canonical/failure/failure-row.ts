/** The types of OpenAI's errors that are used here. */
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
  /** When a client may see this, for the docs. */
  readonly when: string;
  /** Asking again would change nothing: clients of OpenAI's kind are told so. */
  readonly final?: true;
}
