import { describe, expect, it } from 'vitest';

import { askServer, eventsFor, inner, closeServers } from '../../test/support/answered-steps.ts';
import { collectSse, eventsOf } from '../../test/support/sse.ts';
import { answer } from './answer.ts';

closeServers();

describe('answer', () => {
  it('ends as failed or incomplete', async () => {
    const failed = await eventsFor([{ fail: { code: 'server_error', message: 'oops' } }, { text: 'never' }]);
    expect(failed.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'oops' },
        output: [],
        usage: null,
      },
    });
    const incomplete = await eventsFor([
      { text: 'cut o', end: 'incomplete' },
      { incomplete: 'max_output_tokens' },
    ]);
    expect(incomplete.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ status: 'incomplete', content: [{ text: 'cut o' }] }],
        usage: { output_tokens: 2 },
      },
    });
  });

  it('uses the usage, model and id from its options', async () => {
    const usage = {
      inputTokens: 5,
      cachedInputTokens: 4,
      cacheWriteInputTokens: 3,
      outputTokens: 2,
      reasoningTokens: 1,
      totalTokens: 7,
    };
    const events = await eventsFor([{ wait: 1 }], {
      usage,
      model: 'other',
      responseId: 'resp_x',
    });
    expect(events.at(-1)).toMatchObject({
      response: {
        id: 'resp_x',
        model: 'other',
        usage: {
          input_tokens: 5,
          input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 1 },
          total_tokens: 7,
        },
      },
    });
    const uncounted = await eventsFor([], { usage: null });
    expect(uncounted.at(-1)?.['response']).not.toHaveProperty('usage');
  });

  it('writes any event and any bytes', async () => {
    const custom = {
      type: 'response.custom_tool_call_input.delta',
      item_id: 'c',
      output_index: 0,
      delta: 'x',
    };
    const events = await eventsFor([{ event: custom }, { raw: ': a comment\n\n' }]);
    expect(inner(events)).toEqual([custom]);
  });

  it('writes many deltas completely and in order', async () => {
    const deltas = Array.from({ length: 20_000 }, (_, index) => `w${String(index)} `);
    const { response } = await askServer({
      script: (_request, connection) => answer(connection, [{ text: deltas.join(''), deltas }]),
    });
    const events = eventsOf(await collectSse(response));
    expect(
      events.filter((event) => event['type'] === 'response.output_text.delta').map((event) => event['delta']),
    ).toEqual(deltas);
    expect(events.at(-1)?.['sequence_number']).toBe(events.length - 1);
  });

  it('stops when the caller disconnects', async () => {
    let over = false;
    const gone = new AbortController();
    const { server, response } = await askServer(
      {
        keepRequests: 1,
        script: async (_request, connection) => {
          await answer(connection, [{ text: 'x '.repeat(100_000), delayMs: 1 }, { text: 'y' }]);
          over = true;
        },
      },
      gone.signal,
    );
    gone.abort();
    expect([response.status, await server.requests[0]?.ended]).toEqual([200, 'aborted']);
    while (server.activeRequests() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(over).toBe(true);
  });
});
