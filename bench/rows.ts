import { setTimeout as sleep } from 'node:timers/promises';

import { compareVisible } from './model-visible.ts';
import type { BenchModel } from './model.ts';
import { residentMb } from './processes.ts';
import type { ProxySide } from './proxy-side.ts';
import { median, quantile, sum } from './statistics.ts';
import { DELTA, TOOL_NAME, type Ask, type Side, type Timing, type Tool } from './workload.ts';

/** A figure: the proxy compared with the bare app-server in the same run. */
export interface Row {
  readonly figure: string;
  readonly bare: string;
  readonly proxy: string;
  readonly ratio: string;
  readonly target: string;
  readonly reached: boolean;
  readonly numbers: Readonly<Record<string, number>>;
}

/** What is compared. */
export interface Sides {
  readonly bare: Side;
  readonly proxy: Side;
}

/** The target of the measured side relative to the other: time to first delta, requests per second. */
export interface Goal {
  readonly firstDelta: { readonly maxAddedMs: number } | { readonly maxRatio: number };
  readonly leastRate: number;
}
export const BESIDE_BARE: Goal = { firstDelta: { maxRatio: 0.2 }, leastRate: 5 };
/** One more millisecond of work, of about eleven for a turn. */
export const VERSUS_NO_RELAY: Goal = { firstDelta: { maxAddedMs: 1 }, leastRate: 0.85 };
/** Equivalent work; the rest is noise. */
export const NO_WORSE: Goal = { firstDelta: { maxAddedMs: 1 }, leastRate: 0.95 };

/** Spans and metrics are made and sent. */
export const TRACED: Goal = { firstDelta: { maxAddedMs: 0.5 }, leastRate: 0.95 };

export const SHORT: Ask = { model: 'gpt-5.5', deltas: 16 };
const LONG: Ask = { model: 'gpt-5.5', deltas: 20_000 };

export const ms = (value: number): string => `${value.toFixed(1)} ms`;
export const ratioOf = (value: number): string => value.toFixed(3);

const orderOf = (round: number): readonly ('bare' | 'proxy')[] =>
  round % 2 === 0 ? ['bare', 'proxy'] : ['proxy', 'bare'];

/** So many requests compile the code of a proxy; fewer leave it up to 1.5 ms slower than a side that has run longer. */
const WARM_REQUESTS = 2_000;
/** A bare app-server compiles nothing, and is slow. */
const BARE_REQUESTS = 40;
const WARM_AT_ONCE = 8;

const warmSides = new WeakSet<Side>();

/** First requests compile code and fill caches. A side that is warm stays warm. */
export const warmUp = async (sides: readonly Side[], model: BenchModel): Promise<void> => {
  await model.prepare(SHORT.deltas);
  await model.prepare(LONG.deltas);
  for (const side of sides) {
    if (warmSides.has(side)) continue;
    warmSides.add(side);
    await perSecond(side, 'pids' in side ? WARM_REQUESTS : BARE_REQUESTS, WARM_AT_ONCE);
    // One at a time, as most figures are measured.
    for (let index = 0; index < 20; index += 1) await side.run(SHORT);
    await side.run(LONG);
  }
};

/** Lets the app-server finish its work after a turn before the next sample. */
export const REST_MS = 30;

/** Alternates between two kinds of sequential requests; each is first in half of the pairs. */
export const firstDeltas = async (
  run: Readonly<Record<'bare' | 'proxy', () => Promise<Timing>>>,
  samples: number,
): Promise<Readonly<Record<'bare' | 'proxy', readonly number[]>>> => {
  const times = { bare: [] as number[], proxy: [] as number[] };
  for (let index = 0; index < samples; index += 1) {
    for (const name of orderOf(index)) {
      await sleep(REST_MS);
      times[name].push((await run[name]()).firstDeltaMs);
    }
  }
  return times;
};

export const timeToFirstDelta = async (
  { bare, proxy }: Sides,
  samples: number,
  goal: Goal,
  ask = SHORT,
): Promise<readonly Row[]> => {
  const times = await firstDeltas({ bare: () => bare.run(ask), proxy: () => proxy.run(ask) }, samples);
  return ([0.5, 0.95] as const).map((part): Row => {
    const [ours, theirs] = [quantile(times.proxy, part), quantile(times.bare, part)];
    const { ratio, target, reached } = compareTimes(ours, theirs, goal.firstDelta);
    return {
      figure: `${proxy.name} vs. ${bare.name}: time to first text delta, p${part * 100}`,
      bare: ms(theirs),
      proxy: ms(ours),
      ratio,
      target: part === 0.5 ? target : '',
      reached: part !== 0.5 || reached,
      numbers: { samples, bareMs: theirs, proxyMs: ours, ratio: ours / theirs },
    };
  });
};

/** The added time, and whether it is within the goal. */
export const compareTimes = (
  ours: number,
  theirs: number,
  goal: Goal['firstDelta'],
): Pick<Row, 'ratio' | 'target' | 'reached'> =>
  'maxRatio' in goal
    ? {
        ratio: ratioOf(ours / theirs),
        target: `≤ ${goal.maxRatio}`,
        reached: ours / theirs <= goal.maxRatio,
      }
    : {
        ratio: `${ours < theirs ? '' : '+'}${ms(ours - theirs)}`,
        target: `≤ +${goal.maxAddedMs} ms`,
        reached: ours - theirs <= goal.maxAddedMs,
      };

const perSecond = async (side: Side, requests: number, atOnce: number): Promise<number> => {
  let left = requests;
  const startedAt = performance.now();
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await side.run(SHORT);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  return (requests / (performance.now() - startedAt)) * 1000;
};

export const throughput = async (
  { bare, proxy }: Sides,
  {
    rounds,
    requests,
    atOnce,
  }: { readonly rounds: number; readonly requests: number; readonly atOnce: number },
  goal: Goal,
): Promise<Row> => {
  const rates = { bare: [] as number[], proxy: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of orderOf(round)) {
      rates[name].push(await perSecond(name === 'bare' ? bare : proxy, requests, atOnce));
    }
  }
  const [ours, theirs] = [median(rates.proxy), median(rates.bare)];
  return {
    figure: `${proxy.name} vs. ${bare.name}: ${atOnce} at once, requests a second`,
    bare: theirs.toFixed(1),
    proxy: ours.toFixed(1),
    ratio: ratioOf(ours / theirs),
    target: `≥ ${goal.leastRate}`,
    reached: ours / theirs >= goal.leastRate,
    numbers: { rounds, requests: rounds * requests, bare: theirs, proxy: ours, ratio: ours / theirs },
  };
};

/** Counts text instead of deltas, because deltas may be joined. */
const deltaRate = ({ firstDeltaMs, endMs, textChars }: Timing): number =>
  (textChars / DELTA.length / (endMs - firstDeltaMs)) * 1000;

export const longAnswer = async ({ bare, proxy }: Sides, rounds: number): Promise<readonly Row[]> => {
  const timings = { bare: [] as Timing[], proxy: [] as Timing[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of orderOf(round)) {
      timings[name].push(await (name === 'bare' ? bare : proxy).run(LONG));
    }
  }
  const [ours, theirs] = [median(timings.proxy.map(deltaRate)), median(timings.bare.map(deltaRate))];
  const seen = (list: readonly Timing[]): number => sum(list.map((one) => one.deltas)) / list.length;
  return [
    {
      figure: `one answer of ${LONG.deltas} deltas, deltas a second`,
      bare: theirs.toFixed(0),
      proxy: ours.toFixed(0),
      ratio: ratioOf(ours / theirs),
      target: '≥ 1',
      reached: ours / theirs >= 1,
      numbers: { rounds, bare: theirs, proxy: ours, ratio: ours / theirs },
    },
    {
      figure: '  of which arrived as deltas of their own',
      bare: seen(timings.bare).toFixed(0),
      proxy: seen(timings.proxy).toFixed(0),
      ratio: ratioOf(seen(timings.proxy) / seen(timings.bare)),
      target: '',
      reached: true,
      numbers: { bare: seen(timings.bare), proxy: seen(timings.proxy) },
    },
  ];
};

const MAX_MEMORY_MB = 250;
/** Variation due to garbage collection and allocators. */
const FLAT = 1.1;

/** Memory after this many turns, and after twice as many. */
export const memory = async ({ bare, proxy }: Sides, turns: number): Promise<Row> => {
  const before = await proxy.memory();
  await perSecond(proxy, turns / 2, 16);
  const between = await proxy.memory();
  await perSecond(proxy, turns / 2, 16);
  const after = await proxy.memory();
  const theirs = await bare.memory();
  return {
    figure: `memory of the app-server after ${turns / 2} and after ${turns} more turns`,
    bare: `${theirs.toFixed(0)} MB`,
    proxy: `${after.toFixed(0)} MB`,
    ratio: `from ${before.toFixed(0)}, ${between.toFixed(0)}`,
    target: `≤ ${MAX_MEMORY_MB} MB, flat`,
    reached: after <= MAX_MEMORY_MB && after <= between * FLAT,
    numbers: { turns, before, between, after, bare: theirs },
  };
};

const MAX_BOTH_MB = 350;

/** Memory of our process and its app-server after stored responses. Flat: the last two fifths add little. */
export const memoryOfBoth = async (proxy: ProxySide, turns: number): Promise<Row> => {
  const { node, appServer } = await proxy.pids();
  const both = async (): Promise<readonly [number, number]> => [
    await residentMb(({ pid }) => pid === node),
    await residentMb(({ pid }) => pid === appServer),
  ];
  const before = sum(await both());
  await perSecond(proxy, (turns * 3) / 5, 8);
  const between = sum(await both());
  await perSecond(proxy, (turns * 2) / 5, 8);
  const [ours, theirs] = await both();
  const after = ours + theirs;
  return {
    figure: `memory of both processes after ${turns} stored responses`,
    bare: `${theirs.toFixed(0)} MB the app-server`,
    proxy: `${after.toFixed(0)} MB`,
    ratio: `from ${before.toFixed(0)}, ${between.toFixed(0)}`,
    target: `≤ ${MAX_BOTH_MB} MB, flat`,
    reached: after <= MAX_BOTH_MB && after <= between * FLAT,
    numbers: { turns, before, between, after, node: ours, appServer: theirs },
  };
};

const MAX_FAILURE_MS = 100;

/** Each has a backend port without a listener. */
export const refusedConnection = async (
  sides: readonly ProxySide[],
  samples: number,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const side of sides) {
    await side.fail();
    const times: number[] = [];
    for (let index = 0; index < samples; index += 1) {
      await sleep(REST_MS);
      times.push(await side.fail());
    }
    const time = median(times);
    rows.push({
      figure: `${side.name}: a refused connection is reported after`,
      bare: 'never',
      proxy: ms(time),
      ratio: '',
      target: `≤ ${MAX_FAILURE_MS} ms`,
      reached: time <= MAX_FAILURE_MS,
      numbers: { samples, ms: time },
    });
  }
  return rows;
};

export const TOOLS: readonly Tool[] = [
  {
    name: TOOL_NAME,
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'A city.' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
];

/** An old, a new, and an unknown name. */
const MODELS = ['gpt-5.5', 'gpt-6.1-sol', 'some-other-model'];

export const addedBytes = async ({ bare, proxy }: Sides, model: BenchModel): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const name of MODELS) {
    for (const tools of [[], TOOLS]) {
      const ask: Ask = { model: name, deltas: 1, instructions: 'Be brief.', tools };
      await bare.run(ask);
      const theirs = compareVisible(ask, await model.lastRequest());
      await proxy.run(ask);
      const ours = compareVisible(ask, await model.lastRequest());
      rows.push({
        figure: `bytes added to what ${name} sees, ${tools.length === 0 ? 'no tools' : 'a tool'}`,
        bare: String(theirs.addedBytes),
        proxy: String(ours.addedBytes),
        ratio: `${ours.lostBytes} lost`,
        target: '0 bytes',
        reached: ours.addedBytes === 0 && ours.lostBytes === 0,
        numbers: { asked: ours.askedBytes, added: ours.addedBytes, lost: ours.lostBytes },
      });
    }
  }
  return rows;
};
