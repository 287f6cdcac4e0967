import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import { countTokens, encodingOf } from '../../tokenizer/encoding.ts';
import {
  cacheTurns,
  judgeCache,
  judgeForced,
  judgeLimits,
  judgeTurn,
  tinyTurn,
  type Answer,
  checkTransports,
  compareTransports,
  judgeTransport,
  type StreamedTurn,
} from './turns.ts';
import type { Check } from './finding.ts';

const encoding = await encodingOf('gpt-5.5');

const LOGIN = 'run npm run login';
const usage = { input_tokens: 1_400, output_tokens: 5, input_tokens_details: { cached_tokens: 1_280 } };

const answered = (body: JsonObject, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 200,
  headers: new Headers(headers),
  body: { status: 'completed', model: 'codex-5', usage, output: [], ...body },
  ms: 1_234,
});
const refused = (status: number, code: string, message: string): Answer => ({
  status,
  headers: new Headers(),
  body: { error: { code, message, type: 't', param: null } },
  ms: 5,
});

describe('the requests', () => {
  it('contain an effort only for backends that support it', () => {
    expect([tinyTurn({ effort: 'low' }), tinyTurn({ effort: null })]).toEqual([
      { model: 'codex-5', input: 'Answer with the word ok.', reasoning: { effort: 'low' } },
      { model: 'codex-5', input: 'Answer with the word ok.' },
    ]);
  });

  it('form one conversation, long enough for a cache', () => {
    const [first, second] = cacheTurns({ effort: null }, 'nonce');
    const [one] = first['input'] as JsonObject[];
    expect((second['input'] as JsonObject[])[0]).toEqual(one);
    expect(countTokens(one?.['content'] as string, encoding)).toBeGreaterThan(1_200);
  });
});

describe('judgeTurn', () => {
  it('reports time and tokens', () => {
    expect(judgeTurn(answered({ output: [{ type: 'message' }] }), LOGIN)).toEqual({
      grade: 'ok',
      says: 'codex-5 answered in 1.2 s (1400 tokens in, 5 out)',
      advice: null,
      facts: { model: 'codex-5', ms: 1_234, inputTokens: 1_400, outputTokens: 5 },
    });
  });

  it('reports parameters without effect', () => {
    const answer = answered({ output: [{ type: 'message' }] }, { 'x-proxy-ignored-params': 'top_p' });
    expect(judgeTurn(answer, LOGIN).says).toContain('; without effect: top_p');
  });

  it('reports an empty answer as a problem', () => {
    expect(judgeTurn(answered({}), LOGIN).grade).toBe('problem');
  });

  it.each<readonly [Answer, string, string]>([
    [
      refused(502, 'upstream_unauthorized', 'Refused.'),
      'upstream_unauthorized (502): Refused.',
      'run npm run login',
    ],
    [
      refused(502, 'upstream_blocked', 'A page.'),
      'upstream_blocked (502): A page.',
      'try PROXY_WIRE=off, another network, or later',
    ],
    [
      refused(429, 'insufficient_quota', 'Until 14:00.'),
      'insufficient_quota (429): Until 14:00.',
      'wait until the limit resets, or use another account',
    ],
    [
      { ...answered({ status: 'failed', error: { code: 'odd', message: 'Odd.' } }) },
      'odd (200): Odd.',
      'see docs/errors.md and docs/operating.md',
    ],
    [
      { status: 500, headers: new Headers(), body: {}, ms: 1 },
      'no code (500): no reason was given',
      'see docs/errors.md and docs/operating.md',
    ],
  ])('reports an error with advice', (answer, says, advice) => {
    expect(judgeTurn(answer, LOGIN)).toMatchObject({ grade: 'problem', says, advice });
  });

  it.each([
    ['upstream_unauthorized', 'check PROXY_UPSTREAM_API_KEY'],
    ['upstream_unreachable', 'check the network, PROXY_UPSTREAM_BASE_URL, HTTPS_PROXY'],
    ['upstream_error', 'check PROXY_UPSTREAM_BASE_URL (most end in /v1); the provider may have a problem'],
  ])('does not suggest signing in with a provider: %s', (code, advice) => {
    expect(judgeTurn(refused(502, code, 'No.'), null)).toMatchObject({ grade: 'problem', advice });
  });
});

describe('judgeForced', () => {
  it.each<readonly [string, JsonObject[]]>([
    ['ok', [{ type: 'reasoning' }, { type: 'function_call', name: 'say_ok' }]],
    ['problem', [{ type: 'message' }]],
    ['problem', [{ type: 'function_call', name: 'other' }]],
  ])('%s: %j', (grade, output) => {
    expect(judgeForced(answered({ output }), LOGIN).grade).toBe(grade);
  });

  it('explains the consequence of a missing required call', () => {
    expect(judgeForced(refused(502, 'tool_choice_not_satisfied', 'No.'), LOGIN)).toMatchObject({
      grade: 'problem',
      advice: 'clients that force a tool will not work with this model: try another one',
    });
  });
});

describe('judgeCache', () => {
  it('distinguishes a hit from a miss', () => {
    expect(judgeCache(answered({}), LOGIN)).toMatchObject({
      grade: 'ok',
      says: '1280 of 1400 tokens of a second turn came from the cache',
    });
    expect(judgeCache(answered({ usage: { input_tokens: 1_400 } }), LOGIN).grade).toBe('warning');
  });
});

describe('judgeLimits', () => {
  const limits = (used: string): Headers =>
    new Headers({
      'x-codex-primary-used-percent': used,
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': '1794790000',
      'x-codex-secondary-used-percent': '7',
      'x-codex-secondary-window-minutes': '10080',
    });

  it('reports the usage and reset time of each window', () => {
    expect(judgeLimits(limits('42'))).toEqual({
      grade: 'ok',
      says: '5 h: 42 % used until 2026-11-16 00:46 UTC; 7 d: 7 % used',
      advice: null,
      facts: { usedPercent: [42, 7] },
    });
  });

  it('warns before limits are reached, and reports nothing without headers', () => {
    expect([judgeLimits(limits('95')).grade, judgeLimits(new Headers()).grade]).toEqual([
      'warning',
      'skipped',
    ]);
  });
});

describe('transport check', () => {
  const turn = (firstMs: number | null, body: JsonObject = {}, status = 200): StreamedTurn => ({
    answer: { status, headers: new Headers(), body, ms: 5_000 },
    firstMs,
  });
  const refusedTurn = (message: string): StreamedTurn =>
    turn(null, { error: { code: 'upstream_unreachable', message } }, 502);

  describe('judgeTransport', () => {
    it('reports the first output, and that the upgrade worked', () => {
      expect(judgeTransport('websocket', turn(1_040), null)).toMatchObject({
        firstMs: 1_040,
        finding: { grade: 'ok', says: 'first output after 1.0 s (the upgrade was answered with 101)' },
      });
      expect(judgeTransport('http', turn(3_900), null).finding.says).toBe('first output after 3.9 s');
    });

    it.each(['403', 'timeout', 'ECONNREFUSED'])(
      'reports what the upgrade was answered with: %s',
      (outcome) => {
        const said = `The upstream at chatgpt.com could not be reached: it did not open a WebSocket (WS_${outcome}).`;
        expect(judgeTransport('websocket', refusedTurn(said), null)).toMatchObject({
          firstMs: null,
          finding: {
            grade: 'warning',
            says: `the upgrade was answered with ${outcome}`,
            facts: { upgrade: outcome },
          },
        });
      },
    );

    it('passes on any other failure, and an answer without output', () => {
      expect(judgeTransport('http', refusedTurn('No.'), null).finding).toMatchObject({
        grade: 'warning',
        says: 'upstream_unreachable (502): No.',
      });
      expect(judgeTransport('http', turn(null), null).finding).toMatchObject({ grade: 'warning' });
    });
  });

  describe('compareTransports', () => {
    it('says which one is faster', () => {
      expect(compareTransports(1_000, 3_900, 'auto')).toMatchObject({
        grade: 'ok',
        says: 'WebSocket is faster for this account: 1.0 s instead of 3.9 s',
        facts: { websocketMs: 1_000, httpMs: 3_900, faster: 'websocket' },
      });
    });

    it.each(['auto', 'http', 'websocket'] as const)(
      'calls neither faster for a small difference: %s',
      (set) => {
        expect(compareTransports(1_000, 950, set)).toMatchObject({
          grade: 'ok',
          says: 'equally fast: WebSocket 1.0 s, POST 0.95 s',
          facts: { faster: 'http' },
        });
        expect(compareTransports(35, 40, set)).toMatchObject({
          grade: 'ok',
          says: 'equally fast: WebSocket 0.04 s, POST 0.04 s',
        });
        // Not by chance, perhaps, but too little to be noticed.
        expect(compareTransports(14, 9, set)).toMatchObject({ grade: 'ok' });
      },
    );

    it('warns about a setting that is clearly slower', () => {
      expect(compareTransports(1_000, 3_900, 'http')).toMatchObject({ grade: 'warning' });
      expect(compareTransports(3_900, 1_000, 'auto')).toMatchObject({ grade: 'warning' });
      expect(compareTransports(3_900, 1_000, 'http')).toMatchObject({ grade: 'ok' });
    });

    it('has nothing to say if one failed', () => {
      expect([compareTransports(null, 1, 'auto'), compareTransports(1, null, 'auto')]).toEqual([null, null]);
    });
  });

  it('measures one after the other, then compares', async () => {
    const said: string[] = [];
    const ask = async ({ name, run }: Check): Promise<void> => {
      const { grade } = await run(new AbortController().signal);
      said.push(`${name}: ${grade}`);
    };
    await checkTransports(ask, {
      configured: 'auto',
      signIn: null,
      limitMs: 1_000,
      turn: async (transport) => turn(transport === 'http' ? 2_000 : 1_000),
    });
    expect(said).toEqual(['WebSocket: ok', 'POST: ok', 'transport: ok']);
  });
});
