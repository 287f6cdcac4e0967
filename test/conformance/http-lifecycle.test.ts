import { describe, expect, it } from 'vitest';

import { beginStream } from '../support/begin-stream.ts';
import { startProxy } from '../support/proxy.ts';
import { hangMidStream, slow } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

/** Start and stop of the server: running requests finish, new ones are rejected. */

const ASK = { model: 'gpt-5.5', input: 'hi', stream: true };

const lastEventOf = async (text: string): Promise<unknown> => eventsOf(await collect(readSse(text))).at(-1);

describe('stop', () => {
  it('lets a running answer finish and rejects a new request', async () => {
    const proxy = await startProxy(slow(60));
    const { rest } = await beginStream(await proxy.post('/v1/responses', ASK));
    const stopped = proxy.app.stop(10_000);
    const refused = await proxy.post('/v1/responses', ASK);
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      503,
      '5',
      {
        error: {
          message: 'The server is shutting down.',
          type: 'server_error',
          param: null,
          code: 'shutting_down',
        },
      },
    ]);
    expect((await proxy.get('/healthz')).status).toBe(200);
    expect((await proxy.get('/readyz')).status).toBe(503);
    expect(await lastEventOf(await rest)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'one two three four five' }] }] },
    });
    await stopped;
    await proxy.close();
  });

  it('ends an answer that takes too long, with an error that explains it', async () => {
    const proxy = await startProxy(hangMidStream);
    const { rest } = await beginStream(await proxy.post('/v1/responses', ASK));
    await proxy.app.stop(50);
    expect(await lastEventOf(await rest)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { message: 'The server is shutting down.' } },
    });
    expect(await proxy.model.requests.at(-1)?.ended).toBe('aborted');
    await proxy.close();
  });
});
