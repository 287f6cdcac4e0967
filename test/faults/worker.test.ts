import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { readSse, type SseFrame } from '../support/sse.ts';
import { ASK, askStream, askWhole, endOf, sendRaw, textIn } from './client.ts';
import { closeForGood, eventually, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

let proxy: TestProxy;
// A new one for each test: the delay before a restart doubles with every loss.
beforeEach(async () => {
  proxy = await startWatchedProxy(scripts.hello);
});
afterEach(async () => {
  await expectSound(proxy);
  await closeForGood(proxy);
});

const killWorker = (): void => {
  const worker = proxy.app.workers().find(({ state }) => state === 'ready');
  if (worker === undefined) throw new Error('no worker to kill');
  process.kill(worker.pid, 'SIGKILL');
};

/** Waits until the model was called this many times since. */
const modelWasAsked = (times: number, since: number): Promise<number> =>
  eventually(
    () => proxy.model.requests.length - since,
    (count) => count >= times,
  );

const LOST = {
  message: 'The app-server stopped while it was answering.',
  type: 'server_error',
  param: null,
  code: 'worker_lost',
};

describe('a killed app-server', () => {
  it('after output: the client gets an error, and its stream ends', async () => {
    proxy.use(scripts.hangMidStream);
    const response = await sendRaw(proxy, { ...ASK, stream: true }).response;
    const frames: SseFrame[] = [];
    for await (const frame of readSse(response)) {
      frames.push(frame);
      if (frame.event === 'response.output_text.delta' && textIn(frames) === 'Wait for') killWorker();
    }
    const ending = await eventually(
      () => proxy.model.requests.at(-1)?.ending ?? null,
      (how) => how !== null,
    );
    expect([textIn(frames), endOf(frames), ending]).toEqual([
      'Wait for',
      { last: ['error', 'response.failed', 'done'], error: LOST },
      'aborted',
    ]);
  });

  it.each([true, false])('before any output: another one answers (stream: %s)', async (stream) => {
    const since = proxy.model.requests.length;
    proxy.use(scripts.inTurn(scripts.hang, scripts.hello));
    const asked = stream
      ? askStream(proxy).then(({ frames }) => [textIn(frames), endOf(frames).last])
      : askWhole(proxy).then(({ status, body }) => [status, body['status']]);
    await modelWasAsked(1, since);
    killWorker();
    expect([await asked, proxy.model.requests.length - since]).toEqual([
      stream
        ? ['Hello from the scripted model.', ['response.output_item.done', 'response.completed', 'done']]
        : [200, 'completed'],
      2,
    ]);
  });

  it('repeatedly: the third time the client gets an error', async () => {
    const since = proxy.model.requests.length;
    proxy.use(scripts.hang);
    const asked = askWhole(proxy);
    for (const time of [1, 2, 3]) {
      await modelWasAsked(time, since);
      killWorker();
    }
    expect([await asked, proxy.model.requests.length - since]).toEqual([
      { status: 502, retryAfter: null, body: { error: LOST } },
      3,
    ]);
  });

  it('with many turns: the next one answers each of them', async () => {
    const since = proxy.model.requests.length;
    let isFirstRound = true;
    proxy.use((request, connection) =>
      isFirstRound ? scripts.hang(request, connection) : scripts.hello(request, connection),
    );
    const asked = Array.from({ length: 10 }, () => askWhole(proxy));
    await modelWasAsked(10, since);
    isFirstRound = false;
    killWorker();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  });

  it('while idle: the next request is still answered', async () => {
    await askWhole(proxy);
    killWorker();
    expect((await askWhole(proxy)).status).toBe(200);
    // Another one may have answered before the loss is noticed.
    const lost = () => proxy.log.filter((line) => line['msg'] === 'worker-lost').length;
    expect(await eventually(lost, (count) => count > 0)).toBe(1);
  });

  it('before the very first request, when not even the models are known', async () => {
    killWorker();
    expect((await askWhole(proxy)).status).toBe(200);
  });
});
