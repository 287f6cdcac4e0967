import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { WebSocket } from 'ws';

import type { JsonObject } from '../src/kit/json/json.ts';
import { residentMb } from './processes.ts';
import { KEY, type ProxySide } from './proxy-side.ts';
import { ratioOf, REST_MS, type Row } from './rows.ts';
import { answerItem, inputOf } from './state-rows.ts';
import { median } from './statistics.ts';

/** Conversations over a WebSocket, and WebSockets without any. */

const connect = async ({ url }: ProxySide): Promise<WebSocket> => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  await once(socket, 'open');
  return socket;
};

/** Sends a frame, and reads up to the end of its response. Returns the response's id. */
const turn = async (socket: WebSocket, text: string): Promise<string> => {
  const ended = Promise.withResolvers<string>();
  const onClose = (): void => ended.reject(new Error('the proxy closed the connection'));
  const onMessage = (data: Buffer): void => {
    // A cheap client: frames are not parsed.
    const frame = data.toString('latin1');
    if (frame.startsWith('{"type":"error"')) ended.reject(new Error(frame));
    if (frame.startsWith('{"type":"response.completed"'))
      ended.resolve(/"id":"(resp_\w+)"/u.exec(frame)?.[1] ?? '');
  };
  socket.on('message', onMessage).on('close', onClose);
  socket.send(text);
  try {
    return await ended.promise;
  } finally {
    socket.off('message', onMessage).off('close', onClose);
  }
};

const TURNS = 20;
/** Of each turn's input, like the output of a tool that reads a file. */
const TURN_KB = 20;
const ROUNDS = 9;

interface Talk {
  readonly ms: number;
  readonly uploadedBytes: number;
}

/** Each round is another conversation. */
const userItem = (round: number): JsonObject => ({ role: 'user', content: `${inputOf(TURN_KB)} ${round}` });

const overWebSocket = async (proxy: ProxySide, round: number): Promise<Talk> => {
  const startedAt = performance.now();
  const socket = await connect(proxy);
  let uploadedBytes = 0;
  let previous: string | null = null;
  for (let nth = 0; nth < TURNS; nth += 1) {
    const text = JSON.stringify({
      type: 'response.create',
      model: 'gpt-5.5',
      input: [userItem(round)],
      store: false,
      ...(previous === null ? {} : { previous_response_id: previous }),
    });
    uploadedBytes += text.length;
    previous = await turn(socket, text);
  }
  const ms = performance.now() - startedAt;
  socket.close();
  await once(socket, 'close');
  return { ms, uploadedBytes };
};

const overHttp = async (proxy: ProxySide, round: number): Promise<Talk> => {
  const startedAt = performance.now();
  let uploadedBytes = 0;
  const history: JsonObject[] = [];
  for (let nth = 0; nth < TURNS; nth += 1) {
    history.push(userItem(round));
    const sent = await proxy.send({ input: history, store: false });
    uploadedBytes += sent.uploadedBytes;
    history.push(answerItem);
  }
  return { ms: performance.now() - startedAt, uploadedBytes };
};

const LEAST_SAVED = 0.2;

/** A conversation over one WebSocket compared with requests that contain all of it. */
export const webSocketConversation = async (proxy: ProxySide): Promise<readonly Row[]> => {
  const talks = { http: [] as Talk[], socket: [] as Talk[] };
  for (let round = -2; round < ROUNDS; round += 1) {
    for (const kind of round % 2 === 0 ? (['http', 'socket'] as const) : (['socket', 'http'] as const)) {
      await sleep(REST_MS);
      const talk = await (kind === 'http' ? overHttp : overWebSocket)(proxy, round);
      if (round >= 0) talks[kind].push(talk);
    }
  }
  const [ours, theirs] = [median(talks.socket.map(({ ms }) => ms)), median(talks.http.map(({ ms }) => ms))];
  const uploaded = (list: readonly Talk[]): number => (list[0]?.uploadedBytes ?? 0) / 1024;
  const kb = (value: number): string => `${value.toFixed(0)} KB`;
  const name = `${TURNS} turns of ${TURN_KB} KB over one WebSocket vs. HTTP with all of the history`;
  return [
    {
      figure: `${name}: time, p50`,
      bare: `${theirs.toFixed(0)} ms`,
      proxy: `${ours.toFixed(0)} ms`,
      ratio: ratioOf(ours / theirs),
      target: `≤ ${1 - LEAST_SAVED}`,
      reached: ours / theirs <= 1 - LEAST_SAVED,
      numbers: { rounds: ROUNDS, httpMs: theirs, socketMs: ours, ratio: ours / theirs },
    },
    {
      figure: '  of which is uploaded',
      bare: kb(uploaded(talks.http)),
      proxy: kb(uploaded(talks.socket)),
      ratio: ratioOf(uploaded(talks.socket) / uploaded(talks.http)),
      target: `≤ ${kb(TURNS * (TURN_KB + 1))}`,
      reached: uploaded(talks.socket) <= TURNS * (TURN_KB + 1),
      numbers: { httpKb: uploaded(talks.http), socketKb: uploaded(talks.socket) },
    },
  ];
};

const MAX_IDLE_KB = 50;
const SETTLE_MS = 3_000;

/** The memory of our process for each of many connections that do nothing. */
export const idleWebSockets = async (proxy: ProxySide, count: number): Promise<Row> => {
  const { node } = await proxy.pids();
  const residentKb = async (): Promise<number> => {
    await sleep(SETTLE_MS);
    return (await residentMb(({ pid }) => pid === node)) * 1024;
  };
  const open = async (): Promise<readonly WebSocket[]> => {
    const sockets: WebSocket[] = [];
    while (sockets.length < count) {
      const some = Math.min(50, count - sockets.length);
      sockets.push(...(await Promise.all(Array.from({ length: some }, () => connect(proxy)))));
    }
    return sockets;
  };
  const close = async (sockets: readonly WebSocket[]): Promise<void> => {
    await Promise.all(
      sockets.map(async (socket) => {
        socket.close();
        await once(socket, 'close');
      }),
    );
  };
  const before = await residentKb();
  const sockets = await open();
  const after = await residentKb();
  await close(sockets);
  const each = (after - before) / count;
  return {
    figure: `${count.toLocaleString('en')} idle WebSockets: memory of our process for each`,
    bare: '',
    proxy: `${each.toFixed(1)} KB`,
    ratio: '',
    target: `≤ ${MAX_IDLE_KB} KB`,
    reached: each <= MAX_IDLE_KB,
    numbers: { count, beforeKb: before, afterKb: after, each },
  };
};
