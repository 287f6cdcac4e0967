import { expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { faultScript, type Fault } from './faults.ts';
import { isFrameConnection } from './frame-connection.ts';
import { shareProxy } from './hooks.ts';
import { outputText, type Answered, type ChatGptProxy } from './proxy.ts';

/** Faults in any order, with several requests at once: what must hold whatever happens. */
let proxy: ChatGptProxy;
shareProxy(
  (started) => {
    proxy = started;
  },
  // Two seconds were too short on a busy machine: an answer that was on its way counted as silence, and was asked for again.
  { env: { PROXY_CHATGPT_FIRST_EVENT_TIMEOUT_MS: '6000' } },
);

const FAULTS: readonly Fault[] = [
  { kind: 'cut', after: 'nothing' },
  { kind: 'cut', after: 'created' },
  { kind: 'cut', after: 'output' },
  { kind: 'close', code: 1011, after: 'nothing' },
  { kind: 'close', code: 1011, after: 'output' },
  { kind: 'connection-limit' },
  { kind: 'overload', via: 'http' },
  { kind: 'overload', via: 'first-event' },
  { kind: 'silent', after: 'nothing' },
  { kind: 'silent', after: 'created' },
];

/** A repeatable sequence of numbers from 0 to 1. */
const random = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
};

interface Sent {
  readonly number: string;
  readonly hasOutput: boolean;
}

const REQUESTS = 60;
const AT_ONCE = 6;

it.each([1, 2])('sequence %i', async (seed) => {
  const next = random(seed);
  const sends: Sent[] = [];
  const script: Script = ({ body, ...rest }, connection) => {
    const number = /number (\d+)/.exec(JSON.stringify(body['input']))?.[1] ?? 'none';
    const possible = FAULTS.filter(
      ({ kind }) => isFrameConnection(connection) || kind !== 'connection-limit',
    );
    const fault = next() < 0.3 ? possible[Math.floor(next() * possible.length)] : undefined;
    sends.push({ number, hasOutput: fault === undefined || ('after' in fault && fault.after === 'output') });
    if (fault !== undefined)
      return faultScript(fault, { plan: 'plus', usedPercent: 42 })({ body, ...rest }, connection);
    return answer(connection, [
      { text: `It is ${number}.`, deltas: ['It ', 'is ', `${number}.`], delayMs: 1 },
    ]);
  };
  proxy.backend.use(script);

  const left = Array.from({ length: REQUESTS }, (_, index) => String(1_000 + index));
  const answers = new Map<string, Answered>();
  const client = async (): Promise<void> => {
    for (let number = left.shift(); number !== undefined; number = left.shift()) {
      if (next() < 0.1) proxy.backend.failUpgrade({ status: 403 }, 1);
      if (next() < 0.1) proxy.backend.cutSockets('idle');
      const asked = { model: 'gpt-6.1-sol', input: `number ${number}`, stream: true };
      answers.set(number, await proxy.post('/v1/responses', asked));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));

  let complete = 0;
  for (const [number, answered] of answers) {
    const own = sends.filter((sent) => sent.number === number);
    expect(own.length).toBeLessThan(4);
    // Nothing is sent again after output, and no client sees the output of two attempts.
    expect(own.slice(0, -1).filter(({ hasOutput }) => hasOutput)).toEqual([]);
    expect(answered.text.includes('Half of ') && answered.text.includes('"It ')).toBe(false);
    const failures = answered.text.match(/^event: response\.failed$/gm)?.length ?? 0;
    if (answered.status !== 200) expect(answered.status).toBeGreaterThan(499);
    else if (failures === 0) {
      expect(outputText(answered)).toBe(`It is ${number}.`);
      complete += 1;
    } else expect([failures, answered.text.includes('event: response.completed')]).toEqual([1, false]);
  }
  // Few faults are after output; others fail a request only if it meets several in a row.
  expect(complete).toBeGreaterThan(REQUESTS / 2);
});
