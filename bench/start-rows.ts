import { setTimeout as sleep } from 'node:timers/promises';

import { cpuMs } from './processes.ts';
import type { ProxySide } from './proxy-side.ts';
import { compareTimes, ms, type Row } from './rows.ts';
import { conversationOf } from './size-rows.ts';
import { median } from './statistics.ts';
import type { Side } from './workload.ts';

const STARTS = 5;
const REQUESTS = 10;
const ASK = conversationOf({ kb: 1 });
/** As a person who uses it now and then. */
const PAUSE_MS = 500;

interface Start {
  readonly readyMs: number;
  /** CPU of our process until it was ready. */
  readonly cpuMs: number;
  /** First deltas of its requests, in order. */
  readonly proxy: readonly number[];
  readonly direct: readonly number[];
}

const measureStart = async (direct: Side, start: () => Promise<ProxySide>): Promise<Start> => {
  const startedAt = performance.now();
  const proxy = await start();
  const readyMs = performance.now() - startedAt;
  const used = await cpuMs((await proxy.pids()).node);
  await proxy.warmedUp;
  const times = { proxy: [] as number[], direct: [] as number[] };
  for (let index = 0; index < REQUESTS; index += 1) {
    for (const [name, side] of [['direct', direct] as const, ['proxy', proxy] as const]) {
      await sleep(PAUSE_MS);
      times[name].push((await side.run(ASK)).firstDeltaMs);
    }
  }
  await proxy.close();
  return { readyMs, cpuMs: used, ...times };
};

/** What a user has of a server that has just started, with the state directory of an earlier one. */
export const startRows = async (direct: Side, start: () => Promise<ProxySide>): Promise<readonly Row[]> => {
  // The first one makes the state directory, the second one writes the compiled code.
  for (let index = 0; index < 2; index += 1) await (await start()).close();
  const starts: Start[] = [];
  for (let index = 0; index < STARTS; index += 1) starts.push(await measureStart(direct, start));
  const alone = (figure: string, value: number): Row => ({
    figure,
    bare: '',
    proxy: ms(value),
    ratio: '',
    target: '',
    reached: true,
    numbers: { starts: STARTS, ms: value },
  });
  const request = (number: number, maxAddedMs: number | null): Row => {
    const [ours, theirs] = (['proxy', 'direct'] as const).map((name) =>
      median(starts.map((one) => one[name][number - 1] ?? Number.NaN)),
    ) as [number, number];
    return {
      figure: `request ${number} after a start: first delta, p50, vs. the model asked directly`,
      bare: ms(theirs),
      proxy: ms(ours),
      ...compareTimes(ours, theirs, { maxAddedMs: maxAddedMs ?? Number.NaN }),
      ...(maxAddedMs === null ? { target: '', reached: true } : {}),
      numbers: { starts: STARTS, direct: theirs, proxy: ours },
    };
  };
  return [
    alone('time to ready, p50', median(starts.map(({ readyMs }) => readyMs))),
    alone('CPU of our Node process until ready, p50', median(starts.map((one) => one.cpuMs))),
    request(1, null),
    request(REQUESTS, 5),
  ];
};
