import { beforeEach, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Fault } from './faults.ts';
import { shareProxy, untilSocket } from './hooks.ts';
import { codeOf, outputText, sentBy, type Answered, type ChatGptProxy } from './proxy.ts';

/** What a client sees when a WebSocket fails under its request, and how often the request was sent. */
let proxy: ChatGptProxy;
const share = (env: Readonly<Record<string, string>> = {}): void => {
  shareProxy((started) => void (proxy = started), { env });
  beforeEach(() => untilSocket(proxy));
};

const HELLO = 'Hello from the scripted model.';
const ask = (more: JsonObject = {}): Promise<Answered> =>
  proxy.post('/v1/responses', { model: 'gpt-6.1-sol', input: 'Hello?', ...more });

const dialsUsed = (): number => new Set(proxy.backend.modelRequests.map(({ dial }) => dial)).size;

const BEFORE_OUTPUT: readonly Fault[] = [
  { kind: 'cut', after: 'nothing' },
  { kind: 'cut', after: 'created' },
  { kind: 'close', code: 1011, after: 'nothing' },
  { kind: 'close', code: 1011, after: 'created' },
  { kind: 'close', code: 1000, after: 'nothing' },
  { kind: 'connection-limit' },
  { kind: 'overload', via: 'http' },
  { kind: 'overload', via: 'first-event' },
  { kind: 'overload', via: 'first-error-event' },
];

/** What became of a stream and of a JSON answer whose first socket fails. */
const resentAfter = async (fault: Fault) => {
  const results = [];
  for (const stream of [false, true]) {
    // An idle socket is there, and must not be the one.
    await ask();
    const dialled = proxy.backend.dials.length;
    const before = proxy.backend.modelRequests.length;
    proxy.backend.fail(fault, 1);
    const text = outputText(await ask({ stream }));
    const sent = proxy.backend.modelRequests.slice(before);
    const last = sent[1]?.dial;
    results.push({
      text,
      sent: sent.map(({ transport }) => transport),
      frames: last?.frames,
      isFresh: last !== sent[0]?.dial && proxy.backend.dials.length > dialled,
    });
  }
  return results;
};

const RESENT_ONCE = { text: HELLO, sent: ['websocket', 'websocket'], frames: 1, isFresh: true };

describe('silence before the first output', () => {
  // Above what an answer takes on a busy machine.
  share({ PROXY_CHATGPT_FIRST_EVENT_TIMEOUT_MS: '2000' });

  it.each(['nothing', 'created'] as const)('after %s is resent once, on a fresh socket', async (after) => {
    expect(await resentAfter({ kind: 'silent', after })).toEqual([RESENT_ONCE, RESENT_ONCE]);
  });

  it.each(['nothing', 'created'] as const)('after %s twice is a timeout', async (after) => {
    proxy.backend.fail({ kind: 'silent', after });
    expect(codeOf(await ask())).toBe('504 upstream_timeout');
    expect(proxy.backend.modelRequests).toHaveLength(2);
    expect(dialsUsed()).toBe(2);
  });
});

describe('before the first output', () => {
  share();

  it.each(BEFORE_OUTPUT)('%j is resent once, on a fresh socket', async (fault) => {
    expect(await resentAfter(fault)).toEqual([RESENT_ONCE, RESENT_ONCE]);
  });

  it.each(BEFORE_OUTPUT)('%j on every socket is posted, after at most two frames', async (fault) => {
    proxy.backend.fail(fault, Infinity, 'websocket');
    expect(outputText(await ask())).toBe(HELLO);
    const sent = sentBy(proxy);
    expect([sent[0], sent.at(-1)]).toEqual(['websocket', 'http']);
    expect(sent.filter((transport) => transport === 'http')).toHaveLength(1);
    expect(sent.length).toBeLessThan(4);
  });

  it.each(BEFORE_OUTPUT.filter(({ kind }) => kind === 'cut' || kind === 'overload'))(
    '%j on both transports fails after three attempts',
    async (fault) => {
      proxy.backend.fail(fault);
      const answered = await ask();
      expect(codeOf(answered)).toMatch(fault.kind === 'cut' ? /^502 / : /^503 upstream_overloaded$/);
      expect(proxy.backend.modelRequests.length).toBeLessThan(4);
    },
  );

  it('a duplicate on a used socket is resent on a fresh one', async () => {
    await ask();
    proxy.backend.fail({ kind: 'duplicate-item' });
    expect(outputText(await ask())).toBe(HELLO);
    expect(sentBy(proxy)).toEqual(['websocket', 'websocket', 'websocket']);
    expect(proxy.backend.modelRequests[2]?.dial?.frames).toBe(1);
  });

  it('all idle sockets may die at once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(Array.from({ length: 6 }, () => ask()));
      expect(answers.map(outputText)).toEqual(answers.map(() => HELLO));
      proxy.backend.cutSockets('all');
    }
    expect(outputText(await ask({ stream: true }))).toBe(HELLO);
  });
});

describe('after the first output', () => {
  share();

  it.each([
    { kind: 'cut', after: 'output' },
    { kind: 'close', code: 1011, after: 'output' },
    { kind: 'close', code: 1000, after: 'output' },
  ] as const)('%j is one failure, and nothing is resent', async (fault) => {
    proxy.backend.fail(fault, 1);
    const { status, text } = await ask({ stream: true });
    expect(status).toBe(200);
    expect(text).toContain('Half of ');
    expect(text.match(/^event: response\.failed$/gm)).toHaveLength(1);
    expect(text).not.toContain('event: response.completed');
    expect(sentBy(proxy)).toEqual(['websocket']);
    // Its socket is gone, and the next request is served by another.
    expect(outputText(await ask())).toBe(HELLO);
    expect(dialsUsed()).toBe(2);
  });
});

describe('a refusal', () => {
  share();

  it.each([
    [{ kind: 'usage-limit', via: 'http', resetsInSeconds: 3600 }, '429 insufficient_quota'],
    [{ kind: 'usage-limit', via: 'stream', resetsInSeconds: 3600 }, '429 insufficient_quota'],
    [{ kind: 'usage-not-included' }, '429 insufficient_quota'],
    [{ kind: 'burst' }, '429 rate_limit_exceeded'],
    [{ kind: 'policy', via: 'http', code: 'cyber_policy' }, '400 cyber_policy'],
    [{ kind: 'policy', via: 'stream', code: 'bio_policy' }, '400 bio_policy'],
  ] as const)('%j is the same error as over POST, and is not resent', async (fault, code) => {
    proxy.backend.settings.primaryUsedPercent = 100;
    proxy.backend.fail(fault, 1, 'websocket');
    const answered = await ask();
    expect(codeOf(answered)).toBe(code);
    expect(sentBy(proxy)).toEqual(['websocket']);
    if (fault.kind === 'usage-limit') {
      expect(Number(answered.headers.get('retry-after'))).toBeGreaterThan(3_000);
      expect(answered.headers.get('x-should-retry')).toBe('false');
    }
    if (fault.kind === 'usage-limit' && fault.via === 'http')
      expect(answered.headers.get('x-codex-primary-used-percent')).toBe('100');
  });

  it('of a parameter is learnt, as over POST', async () => {
    const answered = await ask({ model: 'gpt-5.1' });
    expect(codeOf(answered)).toBe('404 model_not_found');
    expect(sentBy(proxy)).toEqual(['websocket']);
  });
});
