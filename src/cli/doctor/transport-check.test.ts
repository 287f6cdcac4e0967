import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import type { Check } from './finding.ts';
import { checkTransports, compareTransports, judgeTransport, type StreamedTurn } from './transport-check.ts';

const turn = (firstMs: number | null, body: JsonObject = {}, status = 200): StreamedTurn => ({
  answer: { status, headers: new Headers(), body, ms: 5_000 },
  firstMs,
});
const refused = (message: string): StreamedTurn =>
  turn(null, { error: { code: 'upstream_unreachable', message } }, 502);

describe('judgeTransport', () => {
  it('reports the first output, and that the upgrade worked', () => {
    expect(judgeTransport('websocket', turn(1_040), null)).toMatchObject({
      firstMs: 1_040,
      finding: { grade: 'ok', says: 'first output after 1.0 s (the upgrade was answered with 101)' },
    });
    expect(judgeTransport('http', turn(3_900), null).finding.says).toBe('first output after 3.9 s');
  });

  it.each(['403', 'timeout', 'ECONNREFUSED'])('reports what the upgrade was answered with: %s', (outcome) => {
    const said = `The upstream at chatgpt.com could not be reached: it did not open a WebSocket (WS_${outcome}).`;
    expect(judgeTransport('websocket', refused(said), null)).toMatchObject({
      firstMs: null,
      finding: {
        grade: 'warning',
        says: `the upgrade was answered with ${outcome}`,
        facts: { upgrade: outcome },
      },
    });
  });

  it('passes on any other failure, and an answer without output', () => {
    expect(judgeTransport('http', refused('No.'), null).finding).toMatchObject({
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
