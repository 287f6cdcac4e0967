import { expect, it } from 'vitest';

import { SETTINGS } from '../../src/config/schema.ts';
import type { SettingRow } from '../../src/config/setting-row.ts';

/** People have these in their environments. A change here is a change of the API: name it in the changelog. */
it('has these settings, each with its default', () => {
  const defaults = Object.entries<SettingRow>(SETTINGS).map(([name, row]) => [name, row.default]);
  expect(Object.fromEntries(defaults)).toEqual({
    PORT: '11435',
    PROXY_HOST: '127.0.0.1',
    PROXY_API_KEY: '',
    PROXY_MAX_BODY_BYTES: '33554432',
    PROXY_UPLOAD_IDLE_TIMEOUT_MS: '30000',
    PROXY_SSE_KEEPALIVE_MS: '15000',
    PROXY_DRAIN_TIMEOUT_MS: '30000',
    PROXY_MAX_CONCURRENT_TURNS: '256',
    PROXY_MAX_QUEUED_TURNS: '1024',
    PROXY_QUEUE_TIMEOUT_MS: '30000',
    PROXY_MAX_BYTES_IN_FLIGHT_MB: '256',
    PROXY_UPSTREAM_BASE_URL: null,
    PROXY_UPSTREAM_API_KEY: null,
    PROXY_UPSTREAM_PARAMS: null,
    PROXY_UPSTREAM_IDLE_TIMEOUT_MS: '300000',
    PROXY_TURN_TIMEOUT_MS: '0',
    PROXY_WIRE: 'on',
    CODEX_HOME: null,
    PROXY_DEMO: 'true',
    PROXY_CHATGPT_BASE_URL: 'https://chatgpt.com/backend-api',
    PROXY_CHATGPT_LANE: 'auto',
    PROXY_STATE_DIR: '~/.codex-app-server-proxy',
    PROXY_STRICT_PARAMS: 'false',
    PROXY_INSTRUCTIONS_TARGET: 'base',
    PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: 'false',
    PROXY_RESPONSES_LAYOUT: 'message-first',
    PROXY_CHAT_REASONING: 'true',
    PROXY_USAGE_POLICY: 'exact',
    PROXY_IMAGE_FETCH: 'true',
    PROXY_IMAGE_FETCH_PRIVATE: 'false',
    PROXY_SANDBOX_MODE: 'read-only',
    PROXY_APPROVAL_POLICY: 'never',
    PROXY_CODEX_WORKDIR: '/tmp/codex-work',
    PROXY_MCP_CONFIG: null,
    PROXY_MCP_CLIENT_SERVERS: 'false',
    PROXY_MCP_CLIENT_PRIVATE: 'false',
    PROXY_WORKERS: '1',
    PROXY_WORKER_HANG_TIMEOUT_MS: '10000',
    PROXY_WORKER_MAX_THREADS: '500',
    PROXY_WORKER_MAX_RSS_MB: '1024',
    PROXY_WORKER_MAX_HOME_MB: '128',
    PROXY_LOG_LEVEL: 'info',
    PROXY_LOG_CONTENT: 'false',
  });
});
