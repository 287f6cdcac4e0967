import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { isType, openSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const proxy = await openProxy(hello);

const MEGABYTE = 1_000_000;
/** In megabytes: more than the system itself buffers. */
const COUNT = 64;

it('a client that sends much and reads no answer is not read either', async () => {
  const socket = await openSocket(proxy);
  socket.ws.pause();
  for (let sent = 0; sent < COUNT; sent += 1) {
    const input = 'x'.repeat(MEGABYTE);
    // Its answer contains the input.
    socket.send({ type: 'response.steer', previous_response_id: 'resp_unknown', input });
  }
  await until(() => socket.ws.bufferedAmount < COUNT * MEGABYTE);
  for (let before = -1; before !== socket.ws.bufferedAmount;) {
    before = socket.ws.bufferedAmount;
    await sleep(1_000);
  }
  expect(socket.ws.bufferedAmount).toBeGreaterThan((COUNT * MEGABYTE) / 4);
  socket.ws.resume();
  await until(() => socket.events.length === COUNT);
  expect(socket.events.every(isType('response.steer.failed'))).toBe(true);
  expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
  socket.ws.close();
});
