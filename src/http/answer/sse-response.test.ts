import { describe, expect, it, vi } from 'vitest';

import type { Frame, Api } from '../../turns/api.ts';
import { sseResponse, type SseOptions, endOfBrokenStream } from './sse-response.ts';
import { failure } from '../../canonical/failure/failure.ts';
import { errorBody } from '../../openai/shared/error-body.ts';
import { renderChat } from '../../openai/chat/render.ts';
import { renderCompletion } from '../../openai/completions/answer.ts';
import { renderResponse } from '../../openai/responses/output/render.ts';
import { collect, fixedAmbient } from '../../../test/support/turn-events.ts';
import { responseMeta } from '../../../test/support/response-meta.ts';

const frame = (value: unknown): Frame => ({ event: null, data: value });
const spies = () => ({
  onGone: vi.fn<() => void>(),
  onEnd: vi.fn<() => void>(),
  onBug: vi.fn<(error: unknown) => void>(),
});
const respond = (frames: AsyncIterable<Frame>, different: Partial<SseOptions> = {}): Response =>
  sseResponse(frames, {
    keepaliveMs: 60_000,
    headers: {},
    ...spies(),
    endOfBroken: () => all(),
    ...different,
  });
async function* all(...frames: readonly Frame[]): AsyncGenerator<Frame> {
  yield* frames;
}
const chunksOf = async (response: Response): Promise<string[]> => {
  const chunks: string[] = [];
  const body = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream());
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
};
const tick = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('sseResponse', () => {
  it('has headers against caching and buffering', () => {
    const response = respond(all(), { headers: { 'x-proxy-ignored-params': 'seed' } });
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      200,
      {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'x-proxy-ignored-params': 'seed',
      },
    ]);
  });

  it('writes frames that are ready together at once, each of them whole', async () => {
    const ends = spies();
    const chunks = await chunksOf(respond(all(frame(1), frame(2), frame(3)), ends));
    expect(chunks).toEqual(['data: 1\n\ndata: 2\n\ndata: 3\n\n']);
    expect([ends.onEnd.mock.calls.length, ends.onGone.mock.calls.length]).toEqual([1, 0]);
  });

  it('writes a huge frame in pieces, with nothing in between', async () => {
    const book = { text: 'é"\n'.repeat(100_000) };
    const chunks = await chunksOf(
      respond(all(frame(1), { event: 'e', data: book }, frame(2)), { keepaliveMs: 1 }),
    );
    // Between two frames there may be a comment, on a busy machine.
    const text = chunks.join('').replaceAll(/^: keepalive\n\n/gm, '');
    expect(text).toBe(`data: 1\n\nevent: e\ndata: ${JSON.stringify(book)}\n\ndata: 2\n\n`);
    expect(chunks.length).toBeGreaterThan(3);
  });

  it('does not wait for the end of the turn', async () => {
    const limiter = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<Frame> {
      yield frame('first');
      await limiter.promise;
      yield frame('second');
    }
    const reader = (respond(slow()).body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    expect(new TextDecoder().decode(first.value)).toBe('data: "first"\n\n');
    limiter.resolve();
    const second = await reader.read();
    expect(new TextDecoder().decode(second.value)).toBe('data: "second"\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  async function* broken(): AsyncGenerator<Frame> {
    yield frame({ sequence_number: 7 });
    yield frame('without one');
    throw new Error('a bug');
  }

  it('ends the stream with an error when a renderer throws, with consecutive numbers', async () => {
    const ends = spies();
    const endOfBroken = () => all(frame({ sequence_number: 2, error: 'x' }), frame({ sequence_number: 3 }));
    const text = (await chunksOf(respond(broken(), { ...ends, endOfBroken }))).join('');
    expect(text).toBe(
      'data: {"sequence_number":7}\n\ndata: "without one"\n\ndata: {"sequence_number":8,"error":"x"}\n\ndata: {"sequence_number":9}\n\n',
    );
    expect([ends.onBug.mock.calls, ends.onEnd.mock.calls.length, ends.onGone.mock.calls.length]).toEqual([
      [[new Error('a bug')]],
      1,
      0,
    ]);
  });

  it('ends the stream with an error when a frame cannot be serialised', async () => {
    const ends = spies();
    const endOfBroken = () => all(frame('error'));
    const text = (await chunksOf(respond(all(frame(1), frame(1n)), { ...ends, endOfBroken }))).join('');
    expect([text, ends.onBug.mock.calls.length]).toEqual(['data: 1\n\ndata: "error"\n\n', 1]);
  });

  it('breaks the stream when not even the error can be written', async () => {
    const ends = spies();
    await expect(chunksOf(respond(broken(), { ...ends, endOfBroken: broken }))).rejects.toThrow('a bug');
    expect(ends.onEnd.mock.calls.length).toBe(1);
  });

  it('writes values nested deeper than the call stack', async () => {
    const depth = 100_000;
    const text = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const chunks = await chunksOf(respond(all(frame(JSON.parse(text)))));
    expect(chunks.join('')).toBe(`data: ${text}\n\n`);
  });

  it('stops reading frames while the client does not read', async () => {
    let asked = 0;
    async function* endless(): AsyncGenerator<Frame> {
      for (;;) {
        asked += 1;
        yield frame('x'.repeat(1000));
      }
    }
    const response = respond(endless());
    for (let count = 0; count < 200; count += 1) await tick();
    const held = asked;
    expect(held).toBeLessThan(200);
    for (let count = 0; count < 200; count += 1) await tick();
    expect(asked).toBe(held);
    await response.body?.cancel();
  });

  it('aborts the turn at once when the client disconnects, and ends the exchange when the turn has ended', async () => {
    const order: string[] = [];
    const turn = Promise.withResolvers<void>();
    async function* hanging(): AsyncGenerator<Frame> {
      try {
        yield frame(1);
        await turn.promise;
      } finally {
        order.push('turn over');
      }
    }
    const response = respond(hanging(), {
      onGone() {
        order.push('gone');
        // Like the abort signal.
        setImmediate(() => turn.resolve());
      },
      onEnd: () => void order.push('end'),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    while (!order.includes('end')) await tick();
    expect(order).toEqual(['gone', 'turn over', 'end']);
  });

  it('does the same for a client that disconnects during backpressure', async () => {
    const ends = spies();
    async function* endless(): AsyncGenerator<Frame> {
      for (;;) yield frame('x'.repeat(10_000));
    }
    const response = respond(endless(), ends);
    for (let count = 0; count < 50; count += 1) await tick();
    await response.body?.cancel();
    while (ends.onEnd.mock.calls.length === 0) await tick();
    expect([ends.onGone.mock.calls.length, ends.onEnd.mock.calls.length]).toEqual([1, 1]);
  });

  it('writes comments only while idle', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const limiter = Promise.withResolvers<void>();
      async function* silent(): AsyncGenerator<Frame> {
        yield frame(1);
        await limiter.promise;
        yield frame(2);
      }
      const response = respond(silent(), { keepaliveMs: 1000 });
      const chunks = chunksOf(response);
      await tick();
      await tick();
      // The first frame was written in this interval: no comment.
      vi.advanceTimersByTime(1000);
      vi.advanceTimersByTime(1000);
      await tick();
      vi.advanceTimersByTime(2000);
      limiter.resolve();
      const text = (await chunks).join('');
      expect(text).toMatch(/^data: 1\n\n(: keepalive\n\n)+data: 2\n\n$/);
      expect(text.match(/keepalive/g)).toHaveLength(3);
    } finally {
      vi.useRealTimers();
    }
  });
});

const { clock } = fixedAmbient();
const endOf = (render: (turns: Parameters<Api['render']>[1]) => ReturnType<Api['render']>, turns = 1) =>
  collect(endOfBrokenStream({ render: (_, streams) => render(streams) }, { meta: null, turns }, clock));
const BODY = errorBody(failure('server_error'));
const common = { id: 'x', createdAt: 1, model: 'm', includeUsage: true, usagePolicy: 'exact' } as const;

describe('a stream that breaks by a bug', () => {
  it('ends with an error and response.failed in the Responses API', async () => {
    const frames = await endOf(([events]) => renderResponse(events, responseMeta()));
    expect(frames.map(({ event }) => event)).toEqual(['error', 'response.failed', 'done']);
    expect(frames[0]?.data).toMatchObject({ type: 'error', code: 'server_error', ...BODY });
    expect(frames[1]?.data).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_1', status: 'failed', error: { code: 'server_error' } },
    });
  });

  it('ends with one error chunk in Chat and Completions for any number of choices', async () => {
    const end = [
      { event: null, data: BODY },
      { event: null, data: '[DONE]' },
    ];
    const chat = { ...common, serviceTier: null, isLegacy: false, isAlsoLegacy: false };
    expect(await endOf((turns) => renderChat(turns, chat), 3)).toEqual(end);
    const completion = { ...common, echoes: ['prompt'] };
    expect(await endOf((turns) => renderCompletion(turns, completion))).toEqual(end);
  });
});
