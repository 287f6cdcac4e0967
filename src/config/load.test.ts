import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, vi } from 'vitest';

import { defaultConfig } from '../../test/support/default-config.ts';
import { loadConfig } from './load.ts';
import type { Config } from './schema.ts';

// A config file of the person who runs the tests must not count.
vi.stubEnv('HOME', join(tmpdir(), 'no-such-home'));
const defaults = defaultConfig(homedir());

/** Everything but where the values come from. */
const load = (env: Record<string, string>): Omit<Config, 'sources'> => {
  const { sources: _, ...config } = loadConfig(env);
  return config;
};

describe('loadConfig', () => {
  it('has a default for everything', () => {
    expect(load({})).toEqual(defaults);
  });

  it('reads every key', () => {
    const config = load({
      PORT: '0',
      PROXY_HOST: '::1',
      PROXY_API_KEY: ' sk-a , ,sk-b,',
      PROXY_MAX_BODY_BYTES: '1000',
      PROXY_SSE_KEEPALIVE_MS: '20',
      PROXY_DRAIN_TIMEOUT_MS: '0',
      PROXY_MAX_WEBSOCKETS: '0',
      PROXY_WEBSOCKET_IDLE_TIMEOUT_MS: '1000',
      PROXY_WEBSOCKET_MEMORY_MB: '1',
      PROXY_MAX_CONCURRENT_TURNS: '4',
      PROXY_MAX_QUEUED_TURNS: '0',
      PROXY_QUEUE_TIMEOUT_MS: '500',
      PROXY_MAX_BYTES_IN_FLIGHT_MB: '64',
      PROXY_MAX_MODEL_REQUESTS: '7',
      PROXY_UPSTREAM_BASE_URL: 'https://models.example/v1//',
      PROXY_UPSTREAM_API_KEY: 'sk-up',
      CODEX_HOME: '/srv/codex',
      CODEX_ACCESS_TOKEN: 'at-0123456789',
      PROXY_ENABLE_FEEDBACK: 'true',
      PROXY_DEMO: '0',
      PROXY_WIRE: 'off',
      PROXY_CHATGPT_BASE_URL: 'https://chat.example/api/',
      PROXY_CHATGPT_LANE: 'full',
      PROXY_CHATGPT_TRANSPORT: 'http',
      PROXY_CHATGPT_FIRST_EVENT_TIMEOUT_MS: '20000',
      PROXY_UPSTREAM_PARAMS: 'temperature, top_p',
      PROXY_REASONING_MEMORY_MB: '0',
      PROXY_STATE_DIR: '~/state',
      PROXY_STORE: 'off',
      PROXY_DATABASE_URL: 'postgres://user:secret@db.example:5432/state',
      PROXY_STORE_TTL_DAYS: '0.25',
      PROXY_USAGE_DAYS: '31.5',
      PROXY_STORE_KEY: `${'0a'.repeat(32)}, ${'A'.repeat(43)}=`,
      PROXY_SIGNATURE_KEY: '0b'.repeat(32),
      PROXY_STORE_TIMEOUT_MS: '1500',
      PROXY_CONVERSATION_WAIT_MS: '2500',
      PROXY_BACKGROUND_RESUME: 'on',
      PROXY_MAX_BACKGROUND_RESPONSES: '20',
      PROXY_BACKGROUND_QUEUE_TIMEOUT_MS: '60000',
      PROXY_STRICT_PARAMS: '1',
      PROXY_INSTRUCTIONS_TARGET: 'developer',
      PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: 'true',
      PROXY_RESPONSES_LAYOUT: 'message-first',
      PROXY_ITEM_MEMORY_MB: '0',
      PROXY_CHAT_REASONING: 'false',
      PROXY_TOOL_TRANSPORT: 'llama-*=prose, *=native',
      PROXY_RESPONSES_OMIT_TOOL_MANIFEST: '1',
      PROXY_USAGE_POLICY: 'zeros',
      PROXY_IMAGE_URLS: 'fetch',
      PROXY_IMAGE_FETCH: 'false',
      PROXY_IMAGE_FETCH_PRIVATE: 'true',
      PROXY_ENABLE_PARALLEL_TOOL_CALLS: 'false',
      PROXY_TOOL_REPAIR_ATTEMPTS: '0',
      PROXY_TOOL_REPAIR_STREAMS: 'true',
      PROXY_IMAGE_MODEL: 'gpt-5.5-low',
      PROXY_EMBEDDINGS_BASE_URL: 'http://127.0.0.1:11434/v1/',
      PROXY_EMBEDDINGS_API_KEY: 'sk-embed',
      PROXY_TRANSCRIPTIONS_BASE_URL: 'https://speech.example/v1',
      PROXY_TRANSCRIPTIONS_API_KEY: 'sk-speech',
      PROXY_SANDBOX_MODE: 'workspace-write',
      PROXY_APPROVAL_POLICY: 'untrusted',
      PROXY_CODEX_WORKDIR: 'work',
      PROXY_MCP_CLIENT_SERVERS: 'true',
      PROXY_MCP_CLIENT_PRIVATE: '1',
      PROXY_WORKERS: '2',
      PROXY_PRESTART: '3',
      PROXY_WORKER_HANG_TIMEOUT_MS: '2000',
      PROXY_WORKER_MAX_THREADS: '7',
      PROXY_WORKER_MAX_RSS_MB: '300',
      PROXY_WORKER_MAX_HOME_MB: '64',
      PROXY_UPSTREAM_IDLE_TIMEOUT_MS: '250',
      PROXY_TURN_TIMEOUT_MS: '500',
      PROXY_LOG_LEVEL: 'silent',
      PROXY_LOG_FORMAT: 'json',
      PROXY_LOG_CONTENT: 'true',
      PROXY_ENABLE_METRICS: 'false',
      PROXY_CAPTURE_DIR: '/srv/captures',
      PROXY_CORS_ALLOWED_ORIGINS: '*, https://Notes.example:8443',
      PROXY_CONSOLE: 'insecure',
      PROXY_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      PROXY_OUTPUT_MODE: 'obsidian-xml',
      PROXY_RESPONSES_OUTPUT_MODE: 'openai-json',
      PROXY_STOP_AFTER_TOOLS: 'burst',
      PROXY_STOP_AFTER_TOOLS_GRACE_MS: '50',
      PROXY_SUPPRESS_TAIL_AFTER_TOOLS: '1',
      PROXY_TOOL_BLOCK_MAX: '3',
      PROXY_TITLE_INTERCEPT: 'false',
      PROXY_TITLE_MODEL: 'gpt-5.5-low',
      PROXY_MODEL_ALIASES: '{"house": "gpt-5.5-high", "home": "house"}',
    });
    expect(config).toEqual({
      http: {
        port: 0,
        host: '::1',
        apiKeys: ['sk-a', 'sk-b'],
        maxBodyBytes: 1000,
        uploadIdleTimeoutMs: 30_000,
        sseKeepaliveMs: 20,
        drainTimeoutMs: 0,
        maxWebsockets: 0,
        websocketIdleTimeoutMs: 1_000,
        websocketMemoryMb: 1,
        corsAllowedOrigins: ['*', 'https://notes.example:8443'],
        console: 'insecure',
        trustedProxies: ['10.0.0.0/8', '::1'],
      },
      load: {
        maxConcurrentTurns: 4,
        maxQueuedTurns: 0,
        queueTimeoutMs: 500,
        maxBytesInFlightMb: 64,
        maxModelRequests: 7,
        maxBackgroundResponses: 20,
        backgroundQueueTimeoutMs: 60_000,
      },
      upstream: {
        baseUrl: 'https://models.example/v1',
        apiKey: 'sk-up',
        codexHome: resolve('/srv/codex'),
        accessToken: 'at-0123456789',
        demoEnabled: false,
        wire: 'off',
        params: ['temperature', 'top_p'],
        idleTimeoutMs: 250,
        turnTimeoutMs: 500,
        chatgptBaseUrl: 'https://chat.example/api',
        chatgptLane: 'full',
        chatgptTransport: 'http',
        chatgptFirstEventTimeoutMs: 20_000,
        reasoningMemoryMb: 0,
      },
      state: {
        dir: join(homedir(), 'state'),
        configFile: null,
        store: 'off',
        databaseUrl: 'postgres://user:secret@db.example:5432/state',
        ttlDays: 0.25,
        usageDays: 31.5,
        keys: ['0a'.repeat(32), `${'A'.repeat(43)}=`],
        signatureKeys: ['0b'.repeat(32)],
        timeoutMs: 1_500,
        conversationWaitMs: 2_500,
        backgroundResume: 'on',
      },
      api: {
        strictParams: true,
        instructionsTarget: 'developer',
        ignoreClientSystemPrompt: true,
        responsesLayout: 'message-first',
        itemMemoryMb: 0,
        chatReasoning: false,
        toolTransport: [
          { pattern: 'llama-*', choice: 'prose' },
          { pattern: '*', choice: 'native' },
        ],
        omitToolManifest: true,
        usagePolicy: 'zeros',
      },
      clients: {
        outputMode: 'obsidian-xml',
        responsesOutputMode: 'openai-json',
        stopAfterTools: 'burst',
        stopGraceMs: 50,
        suppressTail: true,
        toolBlockMax: 3,
        titleIntercept: false,
        titleModel: 'gpt-5.5-low',
        modelAliases: { house: 'gpt-5.5-high', home: 'house' },
      },
      tools: { parallelCalls: false, repairAttempts: 0, repairStreams: true },
      images: { urls: 'fetch', fetchEnabled: false, fetchPrivate: true, chatModel: 'gpt-5.5-low' },
      embeddings: { baseUrl: 'http://127.0.0.1:11434/v1', apiKey: 'sk-embed' },
      transcriptions: { baseUrl: 'https://speech.example/v1', apiKey: 'sk-speech' },
      codex: {
        sandboxMode: 'workspace-write',
        approvalPolicy: 'untrusted',
        workDir: resolve('work'),
        feedback: true,
      },
      worker: { count: 2, preStart: 3, hangTimeoutMs: 2_000, maxThreads: 7, maxRssMb: 300, maxHomeMb: 64 },
      log: {
        level: 'silent',
        format: 'json',
        content: true,
        metrics: false,
        captureDir: resolve('/srv/captures'),
      },
      mcp: { configFile: null, clientServers: true, clientPrivate: true },
      mcpServers: [],
      prices: {},
      warnings: [
        "PROXY_SANDBOX_MODE has no effect: codex's own tools are switched off.",
        "PROXY_APPROVAL_POLICY has no effect: codex's own tools are switched off.",
      ],
    } satisfies Omit<Config, 'sources'>);
  });

  it('takes an empty value for one that was not chosen', () => {
    expect(load({ PORT: '', PROXY_DEMO: ' ', PROXY_API_KEY: '', PROXY_UPSTREAM_API_KEY: '' })).toEqual(
      defaults,
    );
  });
});
