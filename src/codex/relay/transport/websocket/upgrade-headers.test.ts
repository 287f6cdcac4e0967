import { expect, it } from 'vitest';

import { frameMetadata, upgradeHeaders } from './upgrade-headers.ts';

const POSTED = {
  accept: 'text/event-stream',
  'accept-encoding': 'gzip',
  'content-type': 'application/json',
  'content-encoding': 'zstd',
  cookie: 'old=1',
  authorization: 'Bearer token',
  'chatgpt-account-id': 'acc',
  originator: 'ours',
  'session-id': 's',
  'x-codex-beta-features': ['a', 'b'],
  'x-openai-internal-codex-responses-lite': 'true',
  'x-codex-turn-state': 'state',
  'x-codex-turn-metadata': '{"model":"another"}',
  'x-codex-routing-hint': 'model=gpt-5.5',
};

it('an upgrade has the headers of a POST, without those about its body and turn', () => {
  expect(upgradeHeaders(POSTED)).toEqual({
    authorization: 'Bearer token',
    'chatgpt-account-id': 'acc',
    originator: 'ours',
    'session-id': 's',
    'x-codex-beta-features': 'a, b',
    'x-codex-routing-hint': 'model=gpt-5.5',
    'openai-beta': 'responses_websockets=2026-02-06',
  });
});

it('a frame says in its metadata what a POST says in headers', () => {
  expect(frameMetadata(POSTED, 1_763_000_000_000)).toEqual({
    ws_request_header_x_openai_internal_codex_responses_lite: 'true',
    'x-codex-turn-state': 'state',
    'x-codex-ws-stream-request-start-ms': '1763000000000',
  });
  expect(frameMetadata({}, 5)).toEqual({ 'x-codex-ws-stream-request-start-ms': '5' });
});
