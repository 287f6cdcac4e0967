import { describe, expect, it } from 'vitest';

import { loadConfig } from '../compose/features.ts';
import { ConfigError } from './load.ts';

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('loadConfig', () => {
  it('reports every bad key at once, with the value and what is allowed', () => {
    expect(problemsOf({ PORT: '65536', PROXY_DEMO: 'yes', PROXY_USAGE_POLICY: 'A' })).toEqual([
      'PORT: "65536" is not allowed; allowed is a whole number from 0 to 65535.',
      'PROXY_USAGE_POLICY: "A" is not allowed; allowed is one of exact, zeros.',
      'PROXY_DEMO: "yes" is not allowed; allowed is true, false, 1 or 0.',
    ]);
  });

  it.each([
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', '0x50'],
    ['PORT', '1e3'],
    ['PROXY_DRAIN_TIMEOUT_MS', '2147483648'],
    ['PROXY_SSE_KEEPALIVE_MS', '0'],
    ['PROXY_MAX_CONCURRENT_TURNS', '0'],
    ['PROXY_HOST', '[::1]'],
    ['PROXY_HOST', 'a b'],
    ['PROXY_DEMO', 'TRUE'],
    ['PROXY_STATE_DIR', '~root/x'],
    ['PROXY_UPSTREAM_BASE_URL', 'models.example/v1'],
    ['PROXY_UPSTREAM_BASE_URL', 'ftp://models.example'],
    ['PROXY_UPSTREAM_BASE_URL', 'https://models.example/v1?x=1'],
    ['PROXY_STORE', 'true'],
    ['PROXY_STORE_TTL_DAYS', '0'],
    ['PROXY_STORE_TTL_DAYS', '-1'],
    ['PROXY_STORE_TTL_DAYS', '1e3'],
    ['PROXY_STORE_TTL_DAYS', '1,5'],
    ['PROXY_STORE_TIMEOUT_MS', '0'],
    ['PROXY_CONVERSATION_WAIT_MS', '-1'],
    ['PROXY_TOOL_TRANSPORT', 'spoken'],
    ['PROXY_TOOL_TRANSPORT', 'llama-*'],
    ['PROXY_TOOL_TRANSPORT', 'llama-*=prose,gpt'],
    ['PROXY_TOOL_TRANSPORT', 'llama-*=prose,'],
    ['PROXY_TOOL_TRANSPORT', '=prose'],
    ['PROXY_LOG_LEVEL', 'loud'],
    ['PROXY_LOG_FORMAT', 'xml'],
    ['PROXY_TRUSTED_PROXIES', 'localhost'],
    ['PROXY_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['PROXY_TRUSTED_PROXIES', '10.0.0.1,::/129'],
    ['PROXY_CORS_ALLOWED_ORIGINS', 'notes.example'],
    ['PROXY_CORS_ALLOWED_ORIGINS', 'https://notes.example/'],
    ['PROXY_CORS_ALLOWED_ORIGINS', 'https://notes.example,'],
    ['PROXY_MODEL_ALIASES', 'house=gpt'],
    ['PROXY_MODEL_ALIASES', '["gpt"]'],
    ['PROXY_MODEL_ALIASES', '{"house": 1}'],
    ['PROXY_MODEL_ALIASES', '{"my house": "gpt"}'],
    ['PROXY_MODEL_ALIASES', '{"__proto__": "gpt"}'],
    ['PROXY_MODEL_ALIASES', '{"house": "house"}'],
    ['PROXY_MODEL_ALIASES', '{"a": "gpt", "b": "c", "c": "d", "d": "b"}'],
    [
      'PROXY_MODEL_ALIASES',
      JSON.stringify(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`m${at}`, `m${at + 1}`]))),
    ],
  ])('refuses %s=%s', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${name}: ${JSON.stringify(value)} is not allowed; allowed is `);
  });

  it('shows no secret in a message', () => {
    const problems = problemsOf({
      PROXY_API_KEY: 'hunter2 hunter3',
      PROXY_UPSTREAM_API_KEY: 'hunter4\thunter5',
      PROXY_UPSTREAM_BASE_URL: 'https://user:hunter6@models.example',
      PROXY_DATABASE_URL: 'mysql://user:hunter7@db.example/state',
      PROXY_STORE_KEY: 'hunter8',
    });
    expect(problems).toHaveLength(5);
    expect(problems.join('\n')).not.toContain('hunter');
  });

  it.each([
    ['PROXY_STORE_KEY', 'correct horse battery staple'],
    ['PROXY_STORE_KEY', '0a'.repeat(31)],
    ['PROXY_STORE_KEY', '0a'.repeat(33)],
    ['PROXY_STORE_KEY', `${'0a'.repeat(32)},`],
    ['PROXY_STORE_KEY', `${'A'.repeat(42)}B=`],
    ['PROXY_DATABASE_URL', 'db.example/state'],
    ['PROXY_DATABASE_URL', 'http://db.example/state'],
    ['PROXY_DATABASE_URL', 'postgres://db.example'],
  ])('refuses the secret %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(`${name}: `)]);
  });
});
