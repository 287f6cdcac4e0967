import { expect, it } from 'vitest';

import { settled } from '../../../../test/support/fake-pool.ts';
import { IdleTimeout } from '../transport/idle-timeout.ts';
import { streamBack } from './stream-back.ts';

type Params = Parameters<typeof streamBack>;

it.each<[string, boolean, boolean]>([
  ['its last event', false, true],
  ['what was held before it', true, false],
])('waits, at the end of an answer, until the app-server has read %s', async (_, wrote, passed) => {
  const drained = Promise.withResolvers<void>();
  const outgoing = {
    begin() {},
    write: () => wrote,
    pass: () => passed,
    drained: () => drained.promise,
    end() {},
  };
  let asked = 0;
  const chunks = (async function* () {
    asked += 1;
    yield Buffer.from('data: {"type":"response.completed","response":{"id":"r"}}\n\n');
    asked += 1;
  })();
  const { signal } = new AbortController();
  const relayed = { target: 'http://backend', headers: {}, apiKey: null, outgoing, signal };
  const call = { holdsAnswers: true, onUpstreamEvent() {}, onActivity() {}, record() {} };
  const answer = { statusCode: 200, headers: { 'content-type': 'text/event-stream' } };
  const idleTimeout = new IdleTimeout(60_000, signal);
  const over = streamBack(
    relayed as unknown as Params[0],
    call as unknown as Params[1],
    { answer, chunks, streamStart: null, transport: 'http' } as unknown as Params[2],
    idleTimeout,
    { clock: { now: () => 0 }, cookies: null, mintCallId: () => '' } as unknown as Params[4],
  );
  await settled();
  await settled();
  expect(asked).toBe(1);
  drained.resolve();
  await over;
  idleTimeout.stop();
  expect(asked).toBe(2);
});
