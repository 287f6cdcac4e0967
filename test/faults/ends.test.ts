import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { SECOND_ANSWER, STREAMS, type AnswerStream } from '../support/answer-streams.ts';
import { cutAnswer, ENDINGS, type Ending } from '../support/cut-answer.ts';
import type { TestProxy } from '../support/proxy.ts';
import { runs } from '../support/runs.ts';
import { startBackend, type ConnectionInfo, type BackendTarget } from '../relay/backend.ts';
import * as scripts from '../support/scripts.ts';
import { eventsOf } from '../support/sse.ts';
import { askStream, askWhole } from './client.ts';
import { closeForGood, eventually } from './settle.ts';
import { activeTurns, leftThreads, preparedIn, startWatchedProxy } from './workers.ts';

/** The law of test/laws/ends.test.ts with the real app-server, at some of the bytes. */

const SAMPLES = runs(30);
const AT_ONCE = 6;
const tools = [
  { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
];

interface Fault {
  readonly name: string;
  readonly length: number;
  readonly ending: Ending;
  readonly stream: boolean;
}

const streamOf = (name: string): AnswerStream => STREAMS[name] ?? SECOND_ANSWER;

/** Half of them are in the last part of the stream, where calls are pending. */
const faults = (ending: Ending): fc.Arbitrary<Fault> =>
  fc.constantFrom(...Object.keys(STREAMS)).chain((name) => {
    const { length } = streamOf(name).bytes;
    return fc.record({
      name: fc.constant(name),
      length: fc.oneof(
        fc.integer({ min: 0, max: length }),
        fc.integer({ min: Math.floor(length / 2), max: length }),
        fc.constant(length),
      ),
      ending: fc.constant(ending),
      stream: fc.boolean(),
    });
  });

/** Encodes the fault for the backend as the only text of the conversation. */
const inputOf = (fault: Fault): string => JSON.stringify(fault);
const faultIn = ({ body }: ConnectionInfo): Fault =>
  JSON.parse(
    /"(\{\\"name.*?\})"/.exec(body.toString('utf8'))?.[1]?.replaceAll('\\"', '"') ?? 'null',
  ) as Fault;

interface Seen {
  readonly status: unknown;
  readonly output: unknown;
  readonly error: unknown;
}

const NO_IDS = /"id":"[^"]*",/g;

describe('a model stream that ends somewhere', () => {
  let proxy: TestProxy;
  let backend: BackendTarget;
  /** The complete streams. */
  const wholes = new Map<string, string>();
  beforeAll(async () => {
    backend = await startBackend((response, connectionInfo) => {
      if (connectionInfo.method === 'GET') {
        response.writeHead(404).end();
        return;
      }
      const fault = faultIn(connectionInfo);
      // codex has answered a call itself and calls the model again.
      const isSecond = connectionInfo.body.includes('_output"');
      const { bytes } = isSecond ? SECOND_ANSWER : streamOf(fault.name);
      const length = isSecond ? bytes.length : fault.length;
      cutAnswer(response, bytes.subarray(0, length), isSecond ? 'a proper end' : fault.ending);
    });
    proxy = await startWatchedProxy(scripts.hello, { PROXY_UPSTREAM_BASE_URL: backend.url });
    for (const [name, { bytes, wholeAt }] of Object.entries(STREAMS)) {
      if (wholeAt === null) continue;
      const whole = await ask({ name, length: bytes.length, ending: 'a proper end', stream: false });
      expect([name, whole.status, whole.error]).toEqual([name, 'completed', null]);
      wholes.set(name, outputOf(whole));
    }
  });
  afterEach(async () => {
    const running = async () => {
      const prepared = await preparedIn(proxy);
      return {
        leases: proxy.app.workers().reduce((sum, worker) => sum + worker.leases, 0),
        turns: (await activeTurns()) - prepared.turns,
        threads: (await leftThreads()) - prepared.threads,
      };
    };
    const nothing = { leases: 0, turns: 0, threads: 0 };
    expect(await eventually(running, (left) => JSON.stringify(left) === JSON.stringify(nothing))).toEqual(
      nothing,
    );
  });
  afterAll(async () => {
    await closeForGood(proxy);
    await backend.close();
  });

  const ask = async (fault: Fault): Promise<Seen> => {
    const body = { model: 'gpt-5.5', input: inputOf(fault), tools, reasoning: { summary: 'auto' } };
    if (!fault.stream) {
      const { body: answer } = await askWhole(proxy, body);
      return { status: answer['status'], output: answer['output'], error: answer['error'] };
    }
    const { status, frames } = await askStream(proxy, body);
    if (status !== 200) return { status: undefined, output: undefined, error: status };
    const last = eventsOf(frames).findLast((event) => 'response' in event)?.['response'] as Seen;
    return { status: last.status, output: last.output, error: last.error };
  };
  const outputOf = ({ output }: Seen): string => JSON.stringify(output).replaceAll(NO_IDS, '');

  it.each(ENDINGS)('gives a whole answer or an error, never a hang: %s', async (ending) => {
    const wrong: unknown[] = [];
    const todo = fc.sample(faults(ending), { numRuns: SAMPLES, seed: ENDINGS.indexOf(ending) });
    const work = async (): Promise<void> => {
      for (let fault = todo.pop(); fault !== undefined; fault = todo.pop()) {
        const seen = await ask(fault);
        const mayBeWhole = streamOf(fault.name).wholeAt === fault.length;
        const isWhole = seen.status === 'completed' && outputOf(seen) === wholes.get(fault.name);
        const isIncomplete = seen.status === 'incomplete' && fault.name.includes('incomplete');
        const isFailed = seen.error !== null && seen.error !== undefined && seen.status !== 'completed';
        // A reset may overtake what was sent before it.
        const mustBeWhole = mayBeWhole && ending !== 'RST' && ending !== 'a length that is not kept';
        const isRight = isWhole ? mayBeWhole : (isFailed || isIncomplete) && !mustBeWhole;
        if (!isRight) wrong.push({ fault, seen });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
  });
});
