import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { StartWorker, Worker } from '../../src/codex/worker/worker.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { startWarm } from '../support/warm-homes.ts';
import { RUNS, SEED, TIMEOUT_MS } from './exact-body.ts';

/**
 * Turns are started before their requests arrive, a turn carries one request after the other, and threads carry several
 * turns. Whatever callers, models, answers, cancellations and killed app-servers follow each other: a model request contains
 * the conversation of one request, and is sent once.
 */
const KEYS = ['sk-test-key-0123456789', 'sk-other-key-0123456789'];
const MODELS = ['gpt-5.5', 'gpt-5.6-luna', 'vendor/unlisted-model'];

const PRE_STARTED = 4;

/** What the model does for one request. */
const ENDS = [
  'text',
  'long text',
  'half a megabyte',
  'call',
  'undeclared call',
  'goes on',
  'cut',
  'failed',
  'silent',
] as const;
/** codex answers these, and asks again. */
const ASKED_AGAIN: ReadonlySet<string> = new Set(['undeclared call', 'goes on']);

interface Asked {
  readonly caller: number;
  readonly model: string;
  readonly texts: readonly string[];
  readonly end: (typeof ENDS)[number];
  /** As the backend reports it; codex compacts a thread near its context window, 100 million. */
  readonly tokens: number | null;
  /** The client leaves after this time; null: it stays. */
  readonly leavesAfterMs: number | null;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  caller: fc.nat(KEYS.length - 1),
  model: fc.constantFrom(...MODELS),
  texts: fc.array(fc.constantFrom('Hello?', 'px_0', '.', 'data: [DONE]', '"id":"px_1"'), {
    minLength: 1,
    maxLength: 3,
  }),
  end: fc.constantFrom(...ENDS),
  tokens: fc.constantFrom(null, 18, 95_000_000, 2 ** 40),
  leavesAfterMs: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.nat(30)),
});

/** A request is known by the name in its first text. */
const named = ({ texts }: Asked, name: string): readonly JsonObject[] =>
  texts.map((text, at) => ({ role: 'user', content: at === 0 ? `${name} ${text}` : text }));

const NAME = /request-\d+-/g;
const namesIn = (body: JsonObject): ReadonlySet<string> =>
  new Set([...JSON.stringify(body).matchAll(NAME)].map(([name]) => name));

const stepsOf = (end: Asked['end'], name: string, isSecond: boolean): readonly ScriptStep[] => {
  switch (end) {
    case 'text':
      return [{ text: `Answer to ${name}` }];
    case 'long text':
      return [{ text: `Answer to ${name} ${'word '.repeat(2_000)}`, chunkSize: 500 }];
    case 'half a megabyte':
      // Its last event contains it once more: more than an answer that is held back.
      return [{ text: `Answer to ${name} ${'word '.repeat(120_000)}`, chunkSize: 100_000 }];
    case 'call':
      return [{ call: { name: 'declared', arguments: { name }, callId: `call_${name}` } }];
    case 'undeclared call':
      return isSecond
        ? [{ text: 'Well.' }]
        : [{ call: { name: 'never_declared', arguments: { name }, callId: `call_${name}` } }];
    case 'goes on':
      return isSecond
        ? [{ text: 'Done.' }]
        : [
            { text: 'First.' },
            { event: { type: 'response.completed', response: { id: name, end_turn: false } } },
            { cut: true },
          ];
    case 'cut':
      return [{ text: 'Half', end: 'open' }, { cut: true }];
    case 'failed':
      return [{ fail: { code: 'invalid_prompt', message: 'No.' } }];
    case 'silent':
      return [{ wait: 40 }, { text: `Late answer to ${name}` }];
    default:
      return assertNever(end);
  }
};

let proxy: TestProxy;
/** Turns of the app-servers. */
let turns = 0;
/** What runs now. */
let worker: Worker | null = null;
const startCounted: StartWorker = async (options) => {
  const started = await startWarm(options);
  worker = started;
  const { appServer } = started;
  return {
    ...started,
    appServer: {
      watchThread: (threadId, listener) => appServer.watchThread(threadId, listener),
      request(method, params, more) {
        if (method === 'turn/start') turns += 1;
        return appServer.request(method, params, more);
      },
    },
  };
};

let running: readonly Asked[] = [];
const arrived: { readonly name: string; readonly body: JsonObject }[] = [];
const strange: string[] = [];

const script: Script = (request, connection) => {
  const names = [...namesIn(request.body)];
  const [name = ''] = names;
  if (names.length !== 1) strange.push(`a model request of ${names.join(' and ') || 'no request'}`);
  const isSecond = arrived.some((one) => one.name === name);
  arrived.push({ name, body: request.body });
  const one = running[Number(name.split('-')[1]) % 1_000];
  const tokens = one?.tokens ?? null;
  const usage =
    tokens === null
      ? null
      : {
          inputTokens: tokens,
          cachedInputTokens: 0,
          cacheWriteInputTokens: 0,
          outputTokens: 1,
          reasoningTokens: 0,
          totalTokens: tokens + 1,
        };
  return answer(connection, stepsOf(one?.end ?? 'text', name, isSecond), { usage });
};

beforeAll(async () => {
  const env = {
    PROXY_API_KEY: KEYS.join(','),
    PROXY_PRESTART: String(PRE_STARTED),
    PROXY_TOOL_REPAIR_ATTEMPTS: '0',
  };
  proxy = await startProxy(script, env, { startWorker: startCounted });
});
afterAll(() => proxy.close());

const ask = async (one: Asked, name: string): Promise<string> => {
  const leaving = one.leavesAfterMs === null ? null : AbortSignal.timeout(one.leavesAfterMs);
  try {
    const response = await fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS[one.caller] ?? ''}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: one.model,
        input: named(one, name),
        tools: [{ type: 'function', name: 'declared', parameters: {}, strict: false }],
        stream: true,
      }),
      signal: leaving,
    });
    return await response.text();
  } catch (error) {
    if (leaving?.aborted === true) return 'left';
    throw error;
  }
};

let round = 0;

/** Requests at the same time. */
interface Wave {
  readonly asked: readonly Asked[];
  /** The app-server is killed so long after they were sent; null: it is not. */
  readonly killAfterMs: number | null;
}

const waves = fc.array(
  fc.record({
    asked: fc.array(asked, { minLength: 1, maxLength: 4 }),
    killAfterMs: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.nat(30)),
  }),
  { minLength: 2, maxLength: 6 },
);

/** An app-server that is killed again and again is started with pauses; a single one at once. */
let kills = 0;
const killAfter = async (ms: number): Promise<void> => {
  await sleep(ms);
  kills += 1;
  if (worker === null || worker.lost.aborted) return;
  const lost = once(worker.lost, 'abort');
  process.kill(worker.pid, 'SIGKILL');
  // Until the server knows it, requests of the next wave may be sent with what the dead one has asked for, and again.
  await lost;
};

/** Runs one wave after the other. */
const runWaves = async (all: readonly Wave[]): Promise<readonly string[]> => {
  running = all.flatMap((wave) => wave.asked);
  arrived.length = 0;
  strange.length = 0;
  round += 1;
  const nameOf = (one: Asked): string => `request-${round * 1_000 + running.indexOf(one)}-`;
  const found: string[] = [];
  for (const { asked: wave, killAfterMs } of all) {
    const killing = killAfterMs === null ? null : killAfter(killAfterMs);
    const answers = await Promise.all(wave.map((one) => ask(one, nameOf(one))));
    await killing;
    for (const [at, one] of wave.entries()) {
      const name = nameOf(one);
      const own = arrived.filter((request) => request.name === name).map(({ body }) => body);
      const most = ASKED_AGAIN.has(one.end) ? 2 : 1;
      // One whose app-server was killed before the first byte of its answer may be sent again.
      if (own.length > most && killing === null) found.push(`${name} was sent ${own.length} times`);
      if (own.length === 0 && one.leavesAfterMs === null && killing === null)
        found.push(`${name} was not sent`);
      for (const [nth, body] of own.entries()) found.push(...problemsOf(one, name, body, nth));
      const foreign = [...(answers[at] ?? '').matchAll(NAME)].filter(([other]) => other !== name);
      if (foreign.length > 0) found.push(`${name} got the answer to ${foreign[0]?.[0]}`);
    }
  }
  return [...found, ...strange];
};

const problemsOf = (one: Asked, name: string, body: JsonObject, nth: number): readonly string[] => {
  const input = Array.isArray(body['input']) ? (body['input'] as readonly JsonObject[]) : [];
  const expected = named(one, name).map(({ role, content }) => ({
    type: 'message',
    role,
    content: [{ type: 'input_text', text: content }],
  }));
  const own = JSON.stringify(input.slice(0, expected.length));
  const after = input.slice(expected.length).map((item) => (isJsonObject(item) ? item['type'] : null));
  return [
    ...(body['model'] === one.model ? [] : [`${name} was sent to ${JSON.stringify(body['model'])}`]),
    ...(own === JSON.stringify(expected) ? [] : [`${name} was sent as ${own}`]),
    ...(nth === 0 && after.length > 0 ? [`${name} was followed by ${JSON.stringify(after)}`] : []),
    ...(JSON.stringify(body).includes('"px_') && !JSON.stringify(expected).includes('px_')
      ? [`${name} was sent with a placeholder`]
      : []),
  ];
};

describe('turns that were started in advance, in threads that carry several', () => {
  it(
    'send the conversation of their own request, once, and nothing else',
    async () => {
      const property = fc.asyncProperty(waves, async (all) => {
        expect(await runWaves(all)).toEqual([]);
      });
      await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: true });
      const page = await (await proxy.get('/metrics')).text();
      const count = (name: string): number =>
        Number(new RegExp(`^${name} (\\d+)$`, 'mu').exec(page)?.[1] ?? 0);
      // The law says nothing unless turns were really used that had been started earlier.
      expect(count('proxy_prestarted_turns_total\\{fate="used"\\}')).toBeGreaterThan(RUNS);
      expect(kills).toBeGreaterThan(0);
      // codex compacts in the middle of a turn whose backend reports absurd usage: that request is never sent.
      const losses = [...page.matchAll(/^proxy_carrier_losses_total\{reason="([^"]+)"\}/gmu)].map(
        ([, one]) => one,
      );
      expect(losses).toEqual(['other-kind']);
    },
    TIMEOUT_MS,
  );
});

it('carry one request after the other, also after calls, long answers and cancellations', async () => {
  const one: Asked = {
    caller: 0,
    model: MODELS[0] ?? '',
    texts: ['Hello?'],
    end: 'text',
    tokens: null,
    leavesAfterMs: null,
  };
  const wave = (different: Partial<Asked>): Wave => ({
    asked: [{ ...one, ...different }],
    killAfterMs: null,
  });
  expect(await runWaves([wave({})])).toEqual([]);
  const before = turns;
  const ends: readonly Partial<Asked>[] = [
    {},
    { end: 'long text' },
    { end: 'half a megabyte' },
    { end: 'call' },
    { end: 'failed' },
    { end: 'silent', leavesAfterMs: 20 },
    { tokens: 2 ** 40 },
    {},
  ];
  expect(await runWaves([...ends, ...ends].map(wave))).toEqual([]);
  // The two that fail end their turns. The requests at once of the law above may still have turns started ahead.
  expect(turns - before).toBeLessThanOrEqual(2 + PRE_STARTED);
});
