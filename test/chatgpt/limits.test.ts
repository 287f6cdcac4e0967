import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Fault } from './faults.ts';
import { shareProxy } from './hooks.ts';
import { codeOf, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const HELLO = 'Hello from the scripted model.';
const ask = (more: JsonObject = {}): Promise<Answered> =>
  proxy.post('/v1/responses', { model: 'gpt-6.1-sol', input: 'Hello?', ...more });
const messageOf = ({ json }: Answered): string => (json['error'] as { message: string }).message;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

describe('a usage limit', () => {
  it.each([
    ['http', { resetsInSeconds: 3600 }],
    ['http', { resetsAt: inSeconds(3600) }],
    ['stream', { resetsInSeconds: 3600 }],
    ['stream', { resetsAt: inSeconds(3600) }],
  ] as const)('by %s with %j is a used-up quota until then', async (via, when) => {
    for (const stream of [false, true]) {
      proxy.backend.fail({ kind: 'usage-limit', via, ...when }, 1);
      const answered = await ask({ stream });
      expect(codeOf(answered)).toBe('429 insufficient_quota');
      expect(answered.headers.get('x-should-retry')).toBe('false');
      const retryAfter = Number(answered.headers.get('retry-after'));
      expect(retryAfter > 3000 && retryAfter <= 3600).toBe(true);
      expect(messageOf(answered)).toMatch(/until \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    }
    expect(proxy.backend.modelRequests).toHaveLength(2);
  });

  it('includes a plan without access', async () => {
    proxy.backend.fail({ kind: 'usage-not-included' });
    expect(codeOf(await ask())).toBe('429 insufficient_quota');
  });

  it('does not include a burst', async () => {
    proxy.backend.fail({ kind: 'burst' });
    const answered = await ask();
    expect(codeOf(answered)).toBe('429 rate_limit_exceeded');
    expect(answered.headers.get('x-should-retry')).not.toBe('false');
  });
});

describe('overload', () => {
  const VIAS = ['http', 'first-event', 'first-error-event'] as const;

  it.each(VIAS)('by %s is retried before the client sees it', async (via) => {
    for (const stream of [false, true]) {
      proxy.backend.fail({ kind: 'overload', via }, 1);
      const answered = await ask({ stream });
      expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
    }
    expect(proxy.backend.modelRequests).toHaveLength(4);
  });

  it.each(VIAS)('by %s that does not end is a 503', async (via) => {
    proxy.backend.fail({ kind: 'overload', via, code: 'slow_down' });
    const answered = await ask({ stream: true });
    expect(codeOf(answered)).toBe('503 upstream_overloaded');
  });
});

describe('a policy violation', () => {
  it.each([
    ['cyber_policy', 'http'],
    ['bio_policy', 'http'],
    ['misalignment_policy_violation', 'http'],
    ['cyber_policy', 'stream'],
    ['bio_policy', 'stream'],
  ] as const)('%s by %s is the client’s error, with its code', async (code, via) => {
    proxy.backend.fail({ kind: 'policy', code, via } satisfies Fault);
    expect(codeOf(await ask())).toBe(`400 ${code}`);
    expect(proxy.backend.modelRequests).toHaveLength(1);
  });
});

describe('a model', () => {
  it.each([false, true])('that is unknown is not found (stream: %s)', async (stream) => {
    const answered = await ask({ model: 'gpt-5.1', stream });
    expect(codeOf(answered)).toBe('404 model_not_found');
    expect(proxy.backend.modelRequests.map(({ broken }) => broken)).toEqual([['model.supported']]);
  });

  it('that the account does not have is not found either', async () => {
    proxy.backend.settings.modelsNotInPlan = new Set(['gpt-6-luna']);
    expect(codeOf(await ask({ model: 'gpt-6-luna' }))).toBe('404 model_not_found');
  });

  it('that the account has is listed', async () => {
    const { json } = await proxy.get('/v1/models');
    const ids = (json['data'] as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['gpt-6.1-sol', 'gpt-5.5', 'codex-5']));
    expect(ids.filter((id) => id.includes('--full'))).toEqual([]);
    expect(ids).not.toContain('gpt-6-astra');
  });
});
