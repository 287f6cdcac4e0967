import type { ErrorSource } from './catalogue-row.ts';
import type { Failure } from './failure.ts';
import type { FailureCode } from './failure-catalogue.ts';

/** Where the status alone would be misleading. */
const SOURCES: Readonly<Partial<Record<FailureCode, ErrorSource>>> = {
  invalid_api_key: 'key',
  missing_scope: 'key',
  concurrency_limit: 'key',
  background_limit: 'server',
  model_request_limit_exceeded: 'server',
  client_too_slow: 'client',
  insufficient_quota: 'account',
  upstream_unauthorized: 'account',
  account_unavailable: 'account',
  sign_in_required: 'account',
  sign_in_failed: 'account',
  sign_out_failed: 'account',
  rate_limit_exceeded: 'backend',
  upstream_error: 'backend',
  upstream_forbidden: 'backend',
  upstream_blocked: 'backend',
  upstream_unreachable: 'backend',
  upstream_timeout: 'backend',
  upstream_overloaded: 'backend',
  too_many_output_items: 'backend',
  answer_too_large: 'backend',
  tool_choice_not_satisfied: 'backend',
  image_not_generated: 'backend',
};

export const errorSourceOf = ({ kind, status, row }: Pick<Failure, 'kind' | 'status' | 'row'>): ErrorSource =>
  row?.source ?? SOURCES[kind as FailureCode] ?? (status < 500 ? 'client' : 'server');
