import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';

import { KEY, type ProxySide } from './proxy-side.ts';
import { ms, type Row } from './rows.ts';
import { quantile } from './statistics.ts';
import { SLOWLY } from './workload.ts';

/** How far a stream on another instance is behind the live one. */

const DELTAS = 300;
const ROUNDS = 3;
const MAX_BEHIND_MS = 50;

/** Calls back with the sequence number of each event when it arrives. */
const readEvents = async (response: IncomingMessage, onEvent: (sequence: number) => void): Promise<void> => {
  if (response.statusCode !== 200) throw new Error(`the proxy answered ${String(response.statusCode)}`);
  let rest = '';
  response.on('data', (chunk: Buffer) => {
    const frames = (rest + chunk.toString('latin1')).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const sequence = /"sequence_number":(\d+)/u.exec(frame)?.[1];
      if (sequence !== undefined) onEvent(Number(sequence));
    }
  });
  await once(response, 'end');
};

const open = async (url: string, agent: Agent, body: object | null): Promise<IncomingMessage> => {
  const http = httpRequest(url, {
    agent,
    method: body === null ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  });
  http.end(body === null ? undefined : JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(http, 'response');
  if (response === undefined) throw new Error('the proxy gave no answer');
  return response;
};

/** The delays of all events that arrive on the second instance while the response runs on the first. */
const delays = async (one: ProxySide, other: ProxySide, agent: Agent): Promise<readonly number[]> => {
  const live = new Map<number, number>();
  const resumed = new Map<number, number>();
  const created = await open(`${one.url}/responses`, agent, {
    model: 'gpt-5.5',
    input: `Please answer ${SLOWLY} with ${DELTAS} deltas.`,
    background: true,
    stream: true,
  });
  const idKnown = Promise.withResolvers<string>();
  created.on('data', (chunk: Buffer) => {
    const id = /"id":"(resp_\w+)"/u.exec(chunk.toString('latin1'))?.[1];
    if (id !== undefined) idKnown.resolve(id);
  });
  const reading = readEvents(created, (sequence) => live.set(sequence, performance.now()));
  const id = await idKnown.promise;
  const joinedAt = performance.now();
  const again = await open(`${other.url}/responses/${id}?stream=true`, agent, null);
  await Promise.all([reading, readEvents(again, (sequence) => resumed.set(sequence, performance.now()))]);
  if (resumed.size !== live.size) throw new Error(`${resumed.size} of ${live.size} events arrived`);
  // Earlier events are replayed.
  return [...live].flatMap(([sequence, at]) =>
    at > joinedAt + MAX_BEHIND_MS ? [(resumed.get(sequence) ?? Number.NaN) - at] : [],
  );
};

export const resumeElsewhere = async (one: ProxySide, other: ProxySide): Promise<readonly Row[]> => {
  const agent = new Agent({ keepAlive: true });
  const all: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) all.push(...(await delays(one, other, agent)));
  agent.destroy();
  return ([0.5, 0.99] as const).map((part): Row => {
    const behind = quantile(all, part);
    return {
      figure: `a stream read on another instance: behind the live one, p${part * 100}`,
      bare: '',
      proxy: ms(behind),
      ratio: '',
      target: part === 0.99 ? `≤ ${MAX_BEHIND_MS} ms` : '',
      reached: part !== 0.99 || behind <= MAX_BEHIND_MS,
      numbers: { events: all.length, ms: behind },
    };
  });
};
