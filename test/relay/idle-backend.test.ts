import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { closed, freshRelays, WHOLE, type Answer } from './backend.ts';

const start = freshRelays();

const DELTA = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta"}\n\n';
const DONE = 'data: {"type":"response.completed","response":{"id":"resp_1"}}\n\n';

const silentFor = (seconds: number): ((url: string) => ReturnType<typeof failure>) => {
  return (url) =>
    failure('upstream_timeout', {
      message: `The upstream at ${new URL(url).host} sent nothing for ${seconds} s.`,
    });
};

/** Sends something every 20 ms until the other side disconnects. */
const saysAgain =
  (first: string, again: string): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(first);
    const alive = setInterval(() => response.write(again), 20);
    response.once('close', () => clearInterval(alive));
  };

describe('an idle backend', () => {
  it('before its answer is aborted, without a retry', async () => {
    const { backend, open, post, noted } = await start(() => {}, { idleTimeoutMs: 1_000 });
    const { refused, events } = open('t1');
    const response = await post('t1', {});
    expect(response.status).toBe(502);
    expect(refused()).toEqual(silentFor(1)(backend.url));
    expect([events, noted.retries]).toEqual([[], []]);
    await closed(backend);
  });

  it.each([
    ['nothing', (response) => response.writeHead(200).flushHeaders()],
    ['comments', saysAgain('', ': alive\n\n')],
    ['events that only say that it is there', saysAgain('', 'event: keepalive\ndata: {}\n\n')],
    ['such events without a name', saysAgain('', 'data: {"type":"ping"}\n\n')],
    ['all of these, behind some text', saysAgain(DELTA, ': x\n\nevent: ping\ndata: {"type":"ping"}\n\n')],
  ] satisfies [string, Answer][])('after its headers is aborted: %s', async (_, answer) => {
    // Long enough for the request to arrive on a busy machine: one that never arrived cannot be seen to be aborted.
    const { backend, openWithTools, post } = await start(answer, { idleTimeoutMs: 1_000 });
    const { refused } = openWithTools('t1');
    const response = await post('t1', {});
    await response.text().catch(() => null);
    expect(refused()).toEqual(silentFor(1)(backend.url));
    await closed(backend);
  });

  it('is reported to those who wait for the end', async () => {
    const { open, post } = await start(saysAgain(DELTA, ': alive\n\n'), { idleTimeoutMs: 500 });
    const { events } = open('t1');
    await expect((await post('t1', {})).text()).rejects.toThrow('terminated');
    expect(events).toEqual([{ kind: 'answer-started' }, { kind: 'answer-ended', how: 'cut' }]);
  });
});

/** One megabyte after the other, as fast as they are accepted. */
const saysWithoutEnd: Answer = (response) => {
  const megabyte = Buffer.alloc(1024 * 1024, 'x');
  const more = (): void => {
    if (!response.destroyed && response.write(megabyte)) setImmediate(more);
  };
  response.on('drain', more);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`${DELTA}data: {"type":"response.output_text.done","text":"`);
  more();
};

describe('a backend that sends without end', () => {
  // The app-server takes four times as long for twice as much: 100 MB were never read, and the turn never
  // ended.
  it('is aborted within one event', async () => {
    const { backend, open, post } = await start(saysWithoutEnd);
    const { refused, events } = open('t1');
    await expect((await post('t1', {})).text()).rejects.toThrow('terminated');
    expect(refused()).toEqual(
      failure('upstream_error', {
        message: `The upstream at ${new URL(backend.url).host} sent an event that is too long.`,
      }),
    );
    expect(events.at(-1)).toEqual({ kind: 'answer-ended', how: 'cut' });
    await closed(backend);
  });
});

const LONG = `data: {"type":"x","text":"${'x'.repeat(2_000)}`;
const slowly = async (response: ServerResponse): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const text of [DELTA, DELTA, DELTA, LONG, 'xxx', 'xxx', 'xxx"}\n\n', DONE]) {
    response.write(text);
    await sleep(150);
  }
  response.end();
};

describe('a slow backend', () => {
  it('may pause between events, and take long for one', async () => {
    const { open, post } = await start((response) => void slowly(response), { idleTimeoutMs: 1_000 });
    const { refused, events } = open('t1');
    expect(await (await post('t1', {})).text()).toContain(DONE);
    expect([refused(), events]).toEqual([null, WHOLE]);
  });

  it('is not blamed for a slow reader', async () => {
    const chunk = Buffer.from(DELTA.repeat(20_000));
    const { openWithTools, post } = await start(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let sent = 0; sent < 20; sent += 1) response.write(chunk);
        response.end(DONE);
      },
      { idleTimeoutMs: 1_000 },
    );
    const { refused, events } = openWithTools('t1');
    const response = await post('t1', {});
    await sleep(2_500);
    expect((await response.arrayBuffer()).byteLength).toBe(20 * chunk.length + DONE.length);
    expect([refused(), events]).toEqual([null, WHOLE]);
  });
});
