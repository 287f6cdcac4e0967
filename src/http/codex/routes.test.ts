import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { feedbackRoute } from './routes.ts';

describe('feedbackRoute', () => {
  const exchange = {
    signal: new AbortController().signal,
    caller: () => 'ann',
    atEnd() {},
  } as unknown as Exchange;
  const room = {
    caller: 'key_1',
    bytes: 0,
    start: async () => {},
    grow() {},
    keep() {},
    settle() {},
    letGo() {},
  };

  const post = async (body: unknown, takesFeedback: boolean): Promise<readonly unknown[]> => {
    const sent: unknown[] = [];
    const route = feedbackRoute({
      takesFeedback,
      bodies: { bodies: { open: () => room }, maxBodyBytes: 1000 },
      codexAccount: () => ({
        async sendFeedback(feedback) {
          sent.push(feedback);
          return 'thread-1';
        },
      }),
    });
    const http = new Request('http://h/v1/codex/feedback', { method: 'POST', body: JSON.stringify(body) });
    try {
      const answer = await route.handle(http, exchange, {});
      return [answer.status, await answer.json(), sent];
    } catch (error) {
      const { status, code, param } = failureOf(error);
      return [status, `${code} ${param}`, sent];
    }
  };

  it('sends only the text of the client', async () => {
    expect(await post({ classification: 'bad_result', reason: 'It is wrong.' }, true)).toEqual([
      200,
      { id: 'thread-1', object: 'codex.feedback', status: 'sent' },
      [{ classification: 'bad_result', reason: 'It is wrong.' }],
    ]);
    expect(await post({ classification: 'rude' }, true)).toEqual([400, 'invalid_value classification', []]);
  });

  it('sends nothing where feedback is not enabled', async () => {
    expect(await post({ classification: 'bug' }, false)).toEqual([404, 'endpoint_not_supported null', []]);
  });
});
