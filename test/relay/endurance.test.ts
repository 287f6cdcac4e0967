import { createHash } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';

import { runs } from '../support/runs.ts';
import { NO_SAMPLING } from '../support/turn-request.ts';
import {
  appServerHeaders,
  completed,
  inTurn,
  parsed,
  freshRelays,
  status,
  withPlaceholder,
  type Answer,
} from './backend.ts';

const start = freshRelays();

const silent: Answer = () => {};
const silentBehindHead: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
};
const silentBehindFirst: Answer = (response) => {
  silentBehindHead(response, undefined as never, 0);
  response.write('data: {"type":"response.created"}\n\n');
};
const silences = [
  ['before the head', silent],
  ['behind the head', silentBehindHead],
  ['behind the first event', silentBehindFirst],
] as const;

describe('without a reader', () => {
  it.each(silences)(
    'if the app-server disconnects: the upstream request is aborted at once, %s',
    async (_, answer) => {
      const { backend, open, post } = await start(answer);
      open('t1');
      const gone = new AbortController();
      const response = post('t1', {}, { signal: gone.signal }).then(
        (one) => one.text(),
        () => 'gone',
      );
      const left = response.catch(() => 'gone');
      await expect.poll(() => backend.arrivals.length).toBe(1);
      gone.abort();
      expect(await left).toBe('gone');
      await expect.poll(() => backend.arrivals[0]?.aborted).toBe(true);
      expect(backend.arrivals).toHaveLength(1);
    },
  );

  it.each(silences)('if the turn is released: both sides are aborted at once, %s', async (_, answer) => {
    const { backend, open, post } = await start(answer);
    const { relayTurn } = open('t1');
    const response = post('t1', {}).then((one) => one.text());
    const left = response.catch(() => 'cut off');
    await expect.poll(() => backend.arrivals.length).toBe(1);
    relayTurn.close();
    expect(await left).toBe('cut off');
    await expect.poll(() => backend.arrivals[0]?.aborted).toBe(true);
  });

  it('if the turn is released between two attempts: there is no other', async () => {
    const { backend, open, post, noted } = await start((response) => void response.destroy());
    const { relayTurn } = open('t1');
    const left = post('t1', {}).catch(() => 'cut off');
    await expect.poll(() => noted.retries.length).toBe(1);
    relayTurn.close();
    expect(await left).toBe('cut off');
    expect(backend.arrivals).toHaveLength(1);
  });

  it('a released thread cannot call the model any more', async () => {
    const { backend, open, post, noted } = await start(completed);
    open('t1').relayTurn.close();
    const response = await post('t1', {});
    expect([response.status, await response.text()]).toEqual([410, '']);
    expect(backend.arrivals).toEqual([]);
    expect(noted).toMatchObject({ unplaced: 0, lost: [] });
  });

  it('if the relay is closed: nothing stays open', async () => {
    const { relay, backend, openWithTools, post } = await start(inTurn(completed, silentBehindFirst));
    openWithTools('t1');
    await (await post('t1', {})).text();
    const response = await post('t1', {});
    const left = response.text().catch(() => 'cut off');
    await relay.close();
    expect(await left).toBe('cut off');
    await expect.poll(() => backend.arrivals[1]?.aborted).toBe(true);
    await expect(post('t1', {})).rejects.toThrow('fetch failed');
  });
});

const MB = 1024 * 1024;

describe('an answer of 50 MB', () => {
  const line = Buffer.from(`event: response.output_text.delta\ndata: {"delta":"${'y'.repeat(8192)}"}\n\n`);
  const count = Math.ceil((50 * MB) / line.length);
  let written = 0;
  const huge: Answer = (response) => {
    written = 0;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      while (written < count) {
        written += 1;
        if (!response.write(line)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  };

  it('arrives completely', async () => {
    const { openWithTools, post } = await start(huge);
    openWithTools('t1');
    const hash = createHash('sha256');
    const response = await post('t1', {});
    if (response.body !== null) for await (const chunk of response.body) hash.update(chunk);
    const whole = createHash('sha256');
    for (let index = 0; index < count; index += 1) whole.update(line);
    expect(hash.digest('hex')).toBe(whole.digest('hex'));
  });

  it('waits for a slow reader', async () => {
    const { relay, openWithTools } = await start(huge);
    openWithTools('t1');
    const { promise: head, resolve } = Promise.withResolvers<IncomingMessage>();
    const sent = httpRequest(
      `${relay.addresses.model}/responses`,
      { method: 'POST', headers: appServerHeaders('t1') },
      resolve,
    );
    sent.end(JSON.stringify(withPlaceholder({})));
    const response = await head;
    expect(response.statusCode).toBe(200);
    response.pause();
    // The backend is paused once all buffers in between are full.
    let before = -1;
    await expect
      .poll(
        () => {
          const isStopped = written === before;
          before = written;
          return isStopped && written > 0;
        },
        { interval: 300, timeout: 20_000 },
      )
      .toBe(true);
    expect(written * line.length).toBeLessThan(25 * MB);
    let size = 0;
    for await (const chunk of response) size += (chunk as Buffer).length;
    expect(size).toBe(count * line.length);
  });
});

describe('an answer that is garbage', () => {
  it.each([
    ['no events', Buffer.from('<html>It works!</html>')],
    ['binary', Buffer.from(Array.from({ length: 10_000 }, (_, index) => (index * 7) % 256))],
    ['half an event', Buffer.from('event: response.failed\ndata: {"response":{"error"')],
    ['nothing', Buffer.alloc(0)],
  ])('is passed on unchanged: %s', async (_, bytes) => {
    const { open, post } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(bytes);
    });
    const { refused, events } = open('t1');
    const response = await post('t1', {});
    // Except for a CR, which ends a line: codex would wait for an LF after it.
    const expected = bytes.map((byte) => (byte === 0x0d ? 0x0a : byte));
    expect(Buffer.from(await response.arrayBuffer()).equals(expected)).toBe(true);
    expect(events).toEqual([{ kind: 'answer-started' }, { kind: 'answer-ended', how: 'cut' }]);
    expect(refused()?.message).toMatch(/^The upstream at \S+ ended its answer without response\.completed/);
  });
});

describe('many requests', () => {
  it("leave nothing behind, and none gets another's parameters", async () => {
    const { backend, open, post, noted } = await start((response, connectionInfo, nth) => {
      const { temperature, metadata } = parsed(connectionInfo) as {
        temperature: number;
        metadata: { of: string };
      };
      const isMixed = metadata.of !== String(temperature);
      (isMixed ? status(400) : completed)(response, connectionInfo, nth);
    });
    const one = async (index: number): Promise<void> => {
      const { relayTurn } = open(`t${index}`, {
        sampling: { ...NO_SAMPLING, temperature: index },
        metadata: { of: String(index) },
      });
      const response = await post(`t${index}`, { filler: 'z'.repeat(2_000) });
      expect(response.status).toBe(200);
      await response.text();
      relayTurn.close();
    };
    const run = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index += 16) {
        await Promise.all(Array.from({ length: Math.min(16, to - index) }, (_, at) => one(index + at)));
        (backend.arrivals as unknown[]).length = 0;
      }
    };
    const requests = runs(1_000);
    await run(0, 300);
    const before = heapUsed();
    await run(300, requests);
    const growth = heapUsed() - before;
    expect(growth).toBeLessThan(8 * MB);
    expect(backend.sockets.size).toBeLessThanOrEqual(16);
    expect(noted).toEqual({
      retries: [],
      learnt: [],
      lost: [],
      added: [],
      bugs: [],
      unplaced: 0,
      blocked: 0,
      served: requests,
      renewalsHeld: 0,
    });
  });
});

const heapUsed = (): number => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
};
