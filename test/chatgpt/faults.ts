import type { Script } from '../../src/demo/model-server.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { limitHeaders } from './stream.ts';

export type PolicyCode = 'cyber_policy' | 'bio_policy' | 'misalignment_policy_violation';

/** What can go wrong with a valid model request. */
export type Fault =
  | {
      readonly kind: 'usage-limit';
      readonly via: 'http' | 'stream';
      readonly resetsAt?: number;
      readonly resetsInSeconds?: number;
    }
  /** Too many requests at once; unrelated to the plan. */
  | { readonly kind: 'burst' }
  | { readonly kind: 'usage-not-included' }
  | {
      readonly kind: 'overload';
      readonly via: 'http' | 'first-event' | 'first-error-event';
      readonly code?: 'server_is_overloaded' | 'slow_down';
    }
  | { readonly kind: 'policy'; readonly code: PolicyCode; readonly via: 'http' | 'stream' };

const errorOf = (type: string, message: string, more: JsonObject = {}): JsonObject => ({
  error: { type, message, ...more },
});

/** The fault as a script of the model. */
export const faultScript = (fault: Fault, plan: string): Script => {
  switch (fault.kind) {
    case 'usage-limit': {
      const error = {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: plan,
        ...(fault.resetsAt !== undefined && { resets_at: fault.resetsAt }),
        ...(fault.resetsInSeconds !== undefined && { resets_in_seconds: fault.resetsInSeconds }),
      };
      return fault.via === 'http'
        ? (_, connection) => connection.reply(429, { error }, limitHeaders(plan))
        : failsInStream({ code: 'usage_limit_reached', ...error });
    }
    case 'burst':
      return (_, connection) => connection.reply(429, { detail: 'Too many requests' });
    case 'usage-not-included':
      return (_, connection) =>
        connection.reply(
          429,
          errorOf('usage_not_included', 'To use Codex with your ChatGPT plan, upgrade to Plus.', {
            plan_type: plan,
          }),
        );
    case 'overload': {
      const error = {
        type: 'service_unavailable_error',
        code: fault.code ?? 'server_is_overloaded',
        message: 'Our servers are currently overloaded. Please try again later.',
        param: null,
      };
      if (fault.via === 'http') return (_, connection) => connection.reply(503, { error });
      return fault.via === 'first-event'
        ? failsInStream(error, 'at-once')
        : (_, connection) => connection.event({ type: 'error', sequence_number: 0, error });
    }
    case 'policy': {
      const error = {
        type: 'invalid_request_error',
        code: fault.code,
        message: `This request was refused under a policy (${fault.code}).`,
        param: null,
      };
      return fault.via === 'http'
        ? (_, connection) => connection.reply(400, { error })
        : failsInStream(error);
    }
    default:
      return assertNever(fault);
  }
};

const failsInStream =
  (error: JsonObject, when: 'at-once' | 'after-created' = 'after-created'): Script =>
  ({ body }, connection) => {
    const response = { id: 'resp_failed', object: 'response', model: body['model'], output: [] };
    if (when === 'after-created')
      connection.event({
        type: 'response.created',
        sequence_number: 0,
        response: { ...response, status: 'in_progress', error: null },
      });
    connection.event({
      type: 'response.failed',
      sequence_number: when === 'at-once' ? 0 : 1,
      response: { ...response, status: 'failed', error },
    });
  };

/** A Cloudflare page instead of the answer. */
export interface CloudflareSwitch {
  readonly on: 'responses' | 'token' | 'both';
  /** Whether clients that send the page's cookie back are let through. */
  readonly passesWithCookie?: boolean;
  readonly times?: number;
}

export const CLOUDFLARE_COOKIE = '__cf_bm=made-up-clearance';

export const CLOUDFLARE_HEADERS = {
  'content-type': 'text/html; charset=UTF-8',
  'cf-mitigated': 'challenge',
  'cf-ray': '8f0000000000made-UP',
  server: 'cloudflare',
  'set-cookie': `${CLOUDFLARE_COOKIE}; path=/; HttpOnly; SameSite=None`,
};

export const CLOUDFLARE_PAGE =
  '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body><noscript>Enable JavaScript and cookies to continue</noscript></body></html>';
