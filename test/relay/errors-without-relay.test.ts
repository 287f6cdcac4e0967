import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { http401, http404Model, http429, says, usageLimit } from '../support/scripts.ts';
import { ASK, fails, replies } from './answered.ts';

/** The app-server's reports of a backend's errors must become the same failures. */
const proxy = await openProxy(says([]), { PROXY_WIRE: 'off' });

const error = (code: string | null, message = 'Words.'): JsonObject => ({ error: { code, message } });
const failsWith = (code: string): Script => fails({ code, message: 'Words.' });
const PAGE = '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>';
const LOST = "Item with id 'rs_1' not found.";
const UNENTITLED = "The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account.";

describe('an error of the backend, as codex reports it', () => {
  it.each<readonly [string, Script, readonly [number, string, string | null]]>([
    ['a used-up plan', usageLimit(3600), [429, 'insufficient_quota', null]],
    [
      'a plan without this',
      replies(429, { error: { type: 'usage_not_included' } }),
      [429, 'insufficient_quota', null],
    ],
    ['a used-up quota in the stream', failsWith('insufficient_quota'), [429, 'insufficient_quota', null]],
    ['a limit of requests', http429(7), [429, 'rate_limit_exceeded', null]],
    ['a limit in the stream', failsWith('rate_limit_exceeded'), [429, 'rate_limit_exceeded', null]],
    ['overload', replies(503, error('server_is_overloaded')), [503, 'upstream_overloaded', null]],
    ['overload without a code', replies(529, 'x'), [503, 'upstream_overloaded', null]],
    ['overload in the stream', failsWith('server_is_overloaded'), [503, 'upstream_overloaded', null]],
    ['a policy', replies(400, error('cyber_policy')), [400, 'cyber_policy', null]],
    [
      'a policy in the stream',
      failsWith('misalignment_policy_violation'),
      [400, 'misalignment_policy_violation', null],
    ],
    [
      'another policy, of which codex keeps the words only',
      replies(400, error('content_policy_violation')),
      [400, 'invalid_prompt', null],
    ],
    [
      'another policy whose words tell',
      replies(400, error('content_policy_violation', 'Your prompt was flagged by our usage policies.')),
      [400, 'content_policy_violation', null],
    ],
    ['another policy in the stream', failsWith('bio_policy'), [400, 'invalid_prompt', null]],
    ['a hook', failsWith('inference_hook_denied'), [400, 'inference_hook_denied', null]],
    ['a model without access', replies(400, { detail: UNENTITLED }), [404, 'model_not_found', 'model']],
    [
      'a model that is not found',
      replies(404, { detail: 'Model not found' }),
      [404, 'model_not_found', 'model'],
    ],
    ['a model by its code', http404Model(), [404, 'model_not_found', 'model']],
    ['a lost item', replies(404, error(null, LOST)), [400, 'invalid_prompt', 'input']],
    [
      'foreign reasoning',
      replies(400, error('invalid_encrypted_content')),
      [400, 'invalid_encrypted_content', 'input'],
    ],
    ['a path that is not there', replies(404, { detail: 'Not Found' }), [502, 'upstream_error', null]],
    ['refused credentials', http401, [502, 'upstream_unauthorized', null]],
    ['403', replies(403, error('unsupported_country')), [400, 'upstream_forbidden', null]],
    [
      'a page of Cloudflare',
      replies(403, PAGE, { 'content-type': 'text/html' }),
      [502, 'upstream_blocked', null],
    ],
    ['too late', replies(408, 'x'), [504, 'upstream_timeout', null]],
    [
      'an input that is too long',
      failsWith('context_length_exceeded'),
      [400, 'context_length_exceeded', 'input'],
    ],
    ['500', replies(500, error(null)), [502, 'upstream_error', null]],
  ])('%s', async (_, script, [status, code, param]) => {
    proxy.use(script);
    const response = await proxy.post('/v1/responses', ASK);
    const body = (await response.json()) as { error: Record<string, unknown> };
    expect([response.status, body.error]).toEqual([
      status,
      { message: expect.any(String), type: expect.any(String), param, code },
    ]);
    expect(body.error['message']).not.toMatch(/https?:\/\/127|\/v1|unexpected status|api key|unauthorized/i);
  });
});
