import { describe, expect, it } from 'vitest';

import { GatewayError } from '../canonical/failure/failure.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from '../codex/rpc/errors.ts';
import { createCodexAccount, type CodexAccountOptions } from './codex-account.ts';

const LIMITS = {
  ordinaryUsageAllowed: true,
  accountId: 'acc-secret',
  rateLimits: {
    limitId: 'codex',
    limitName: null,
    primary: { usedPercent: 42, windowDurationMins: 300, resetsAt: 1_794_790_000 },
    secondary: null,
    credits: { hasCredits: true, unlimited: false, balance: '9.99' },
    planType: 'plus',
    rateLimitReachedType: null,
  },
  rateLimitsByLimitId: {
    codex: { limitId: 'codex' },
    other: { limitId: 'other', limitName: 'Other', primary: null, secondary: null, credits: null },
  },
  rateLimitResetCredits: { availableCount: 2, credits: null },
};

/** An app-server with these answers; it counts requests and open leases. */
const setUp = (
  says: Readonly<Record<string, unknown>>,
  backend: CodexAccountOptions['backend'] = 'chatgpt',
): {
  codexAccount: ReturnType<typeof createCodexAccount>;
  asked: string[];
  pass(ms: number): void;
  out(): number;
} => {
  const asked: string[] = [];
  let now = 0;
  let out = 0;
  const workers = {
    async lease() {
      out += 1;
      return {
        isCurrent: () => true,
        release() {
          out -= 1;
        },
        appServer: {
          watchThread: () => () => {},
          async request(method: string) {
            asked.push(method);
            const answer = says[method];
            if (answer instanceof Error) throw answer;
            return answer as never;
          },
        },
      };
    },
  };
  return {
    codexAccount: createCodexAccount({ backend, workers, clock: { now: () => now } }),
    asked,
    pass(ms) {
      now += ms;
    },
    out: () => out,
  };
};

const kindOf = async (asking: Promise<unknown>): Promise<unknown> =>
  asking.then(
    () => 'an answer',
    (error: unknown) => (error instanceof GatewayError ? error.failure.kind : error),
  );

describe('the codex account', () => {
  it('shares one request among callers for some seconds', async () => {
    const { codexAccount, asked, pass, out } = setUp({ 'account/rateLimits/read': LIMITS });
    const [one, other] = await Promise.all([codexAccount.rateLimits(), codexAccount.rateLimits()]);
    expect(one).toBe(other);
    pass(9_999);
    await codexAccount.rateLimits();
    expect(asked).toHaveLength(1);
    pass(1);
    await codexAccount.rateLimits();
    expect([asked.length, out()]).toEqual([2, 0]);
  });

  it('reports the limits with their windows, without the owner', async () => {
    const { codexAccount } = setUp({ 'account/rateLimits/read': LIMITS });
    const limits = await codexAccount.rateLimits();
    expect(limits).toMatchObject({
      plan: 'plus',
      isAllowed: true,
      resetCredits: 2,
      limits: [
        { id: 'codex', primary: { usedPercent: 42, minutes: 300, resetsAt: 1_794_790_000 }, secondary: null },
        { id: 'other', name: 'Other' },
      ],
    });
    expect(JSON.stringify(limits)).not.toContain('acc-secret');
  });

  it('sends feedback, one at a time, and reports failures', async () => {
    const { codexAccount, asked } = setUp(
      { 'feedback/upload': { threadId: 'thread-1', promptHash: null } },
      'demo',
    );
    const feedback = { classification: 'bug', reason: null };
    const both = await Promise.all([
      codexAccount.sendFeedback(feedback),
      kindOf(codexAccount.sendFeedback(feedback)),
    ]);
    expect([both, asked]).toEqual([['thread-1', 'concurrency_limit'], ['feedback/upload']]);
    expect(await codexAccount.sendFeedback(feedback)).toBe('thread-1');
  });

  it('sends no request without a ChatGPT account', async () => {
    for (const backend of ['demo', 'provider', 'api-key', 'none'] as const) {
      const { codexAccount, asked } = setUp({}, backend);
      expect(await codexAccount.account()).toEqual({ backend, plan: null, isConfirmed: true });
      expect([await codexAccount.rateLimits(), await codexAccount.usage(), asked]).toEqual([null, null, []]);
    }
  });

  it('knows the login even if the account cannot be read', async () => {
    const offline = new RpcError({ code: -32_603, message: 'error sending request for url (http://secret)' });
    const { codexAccount } = setUp({ 'account/read': offline, getAuthStatus: { authMethod: 'chatgpt' } });
    expect(await codexAccount.account()).toEqual({ backend: 'chatgpt', plan: null, isConfirmed: false });
  });

  it.each([
    [
      new RpcError({ code: -32_603, message: 'error sending request for url (http://secret)' }),
      'upstream_error',
    ],
    [new RequestTimeout('account/usage/read', 15_000), 'upstream_timeout'],
    [new ConnectionClosed(), 'worker_lost'],
  ])('reports an error: %s', async (error, kind) => {
    const { codexAccount, asked, pass, out } = setUp({ 'account/usage/read': error });
    expect(await kindOf(codexAccount.usage())).toBe(kind);
    expect(await kindOf(codexAccount.usage())).toBe(kind);
    expect([asked.length, out()]).toEqual([1, 0]);
    pass(5_000);
    expect(await kindOf(codexAccount.usage())).toBe(kind);
    expect(asked).toHaveLength(2);
    await expect(codexAccount.usage()).rejects.not.toThrow('secret');
  });
});
