import { setTimeout as sleep } from 'node:timers/promises';

import type { JsonObject } from '../src/kit/json/json.ts';
import { cpuMs } from './processes.ts';
import type { ProxySide } from './proxy-side.ts';
import { compareTimes, ms, REST_MS, SHORT, TOOLS, type Row } from './rows.ts';
import { median } from './statistics.ts';
import type { Ask, Side } from './workload.ts';

/** How figures grow with the conversation. Targets are null where there is none. */
interface Size {
  readonly name: string;
  readonly kb: number;
  readonly samples: number;
  readonly maxAddedMs: number;
  readonly maxOfBare: number | null;
  /** CPU per turn. */
  readonly turns: number;
  readonly maxNodeMs: number | null;
  readonly maxAppServerMs: number | null;
}

// oxfmt-ignore
const SIZES: readonly Size[] = [
  { name: '1 KB', kb: 1, samples: 80, maxAddedMs: 4, maxOfBare: 0.2, turns: 400, maxNodeMs: 4, maxAppServerMs: 15 },
  { name: '64 KB', kb: 64, samples: 50, maxAddedMs: 5, maxOfBare: null, turns: 0, maxNodeMs: null, maxAppServerMs: null },
  { name: '512 KB', kb: 512, samples: 30, maxAddedMs: 9, maxOfBare: null, turns: 60, maxNodeMs: 15, maxAppServerMs: null },
  { name: '4 MB', kb: 4_096, samples: 11, maxAddedMs: 40, maxOfBare: null, turns: 16, maxNodeMs: 90, maxAppServerMs: 25 },
];

const LINE = 'A line of a message, with "quotes" and a break, like the ones in code or prose.\n';

const textOf = (kb: number): string => LINE.repeat(Math.ceil((kb * 1024) / LINE.length)).slice(0, kb * 1024);

/** Alternating messages of 1 to 4 KB after the prompt; the last one is the user's. */
export const conversationOf = (size: Pick<Size, 'kb'>): Ask => {
  const lengths: number[] = [];
  for (let left = size.kb; left > 0; left -= lengths.at(-1) ?? 1) {
    lengths.push(Math.min(left, (lengths.length % 4) + 1));
  }
  const history = lengths.map((kb, index): JsonObject => {
    const isUser = (lengths.length - index) % 2 === 1;
    const content = [{ type: isUser ? 'input_text' : 'output_text', text: textOf(kb) }];
    return { type: 'message', role: isUser ? 'user' : 'assistant', content };
  });
  return { ...SHORT, history };
};

/** Enough for the compiler to know the code of large conversations. */
const WARM_UP = 4;

interface ThreeSides {
  readonly direct: Side;
  readonly bare: Side;
  readonly proxy: Side;
}

/** Time to first delta per size, compared with the bare app-server, and with the model asked without a proxy. */
export const firstDeltaBySize = async (sides: ThreeSides): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const size of SIZES) {
    const ask = conversationOf(size);
    const times = { direct: [] as number[], bare: [] as number[], proxy: [] as number[] };
    const names = ['direct', 'bare', 'proxy'] as const;
    for (let index = -WARM_UP; index < size.samples; index += 1) {
      // Each side comes after each other one equally often.
      for (const name of index % 2 === 0 ? names : names.toReversed()) {
        await sleep(REST_MS);
        const { firstDeltaMs } = await sides[name].run(ask);
        if (index >= 0) times[name].push(firstDeltaMs);
      }
    }
    const [direct, bare, proxy] = [median(times.direct), median(times.bare), median(times.proxy)];
    const row = { proxy: ms(proxy), numbers: { samples: size.samples, direct, bare, proxy } };
    const ofBare = compareTimes(proxy, bare, { maxRatio: size.maxOfBare ?? Number.NaN });
    rows.push(
      {
        figure: `${size.name}: first delta, p50, vs. the model asked directly`,
        bare: ms(direct),
        ...compareTimes(proxy, direct, { maxAddedMs: size.maxAddedMs }),
        ...row,
      },
      {
        figure: `${size.name}: first delta, p50, vs. ${sides.bare.name}`,
        bare: ms(bare),
        ...ofBare,
        ...(size.maxOfBare === null ? { target: '' } : {}),
        ...row,
      },
    );
  }
  return rows;
};

/** Lets what the last turn left behind finish. */
const SETTLE_MS = 300;

/** Milliseconds of CPU per turn. */
export interface UsedCpu {
  readonly node: number;
  readonly appServer: number;
}

/** CPU of our process and of its app-server. `atOnce`: turns that run at the same time. */
export const cpuOfTurns = async (
  proxy: ProxySide,
  { ask, turns, atOnce = 1 }: Pick<Workload, 'ask' | 'atOnce'> & { readonly turns: number },
): Promise<UsedCpu> => {
  const pids = await proxy.pids();
  const used = () => Promise.all([cpuMs(pids.node), cpuMs(pids.appServer)]);
  await sleep(SETTLE_MS);
  const before = await used();
  let left = turns;
  const client = async (): Promise<void> => {
    for (; left > 0;) {
      left -= 1;
      await proxy.run(ask);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  await sleep(SETTLE_MS);
  const after = await used();
  return { node: (after[0] - before[0]) / turns, appServer: (after[1] - before[1]) / turns };
};

/** Answers of different kinds to a short request, and what a turn may cost. */
export interface Workload {
  readonly name: string;
  readonly ask: Ask;
  readonly turns: number;
  /** Absent: one turn after the other. */
  readonly atOnce?: number;
  readonly maxNodeMs: number | null;
  readonly maxAppServerMs: number | null;
}

// oxfmt-ignore
export const WORKLOADS: readonly Workload[] = [
  { name: 'a short answer', ask: SHORT, turns: 400, atOnce: 8, maxNodeMs: 2.5, maxAppServerMs: 2.5 },
  { name: '200 deltas', ask: { ...SHORT, deltas: 200 }, turns: 200, atOnce: 8, maxNodeMs: 4.5, maxAppServerMs: 2.8 },
  { name: '100 single deltas', ask: { ...SHORT, deltas: 100, isSlow: true }, turns: 64, atOnce: 8, maxNodeMs: 9, maxAppServerMs: 2.8 },
  { name: 'a tool call', ask: { ...SHORT, tools: TOOLS, callsTool: true }, turns: 200, atOnce: 8, maxNodeMs: null, maxAppServerMs: 2.8 },
];

/** CPU of our process and of its app-server, per turn. */
export const cpuPerTurn = async (proxy: ProxySide): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  const sizes = SIZES.map((size): Workload => ({ ...size, ask: conversationOf(size) }));
  for (const { name, ask, turns, atOnce = 1, ...most } of [...WORKLOADS, ...sizes]) {
    if (turns === 0) continue;
    for (let index = 0; index < WARM_UP; index += 1) await proxy.run(ask);
    const { node, appServer } = await cpuOfTurns(proxy, { ask, turns, atOnce });
    const row = (part: string, value: number, limit: number | null): Row => ({
      figure: `${name}: CPU of ${part} per turn, ${turns} ${atOnce === 1 ? 'in a row' : `by ${atOnce} at once`}`,
      bare: '',
      proxy: ms(value),
      ratio: '',
      target: limit === null ? '' : `≤ ${limit} ms`,
      reached: limit === null || value <= limit,
      numbers: { turns, ms: value },
    });
    rows.push(
      row('our Node process', node, most.maxNodeMs),
      row('the app-server', appServer, most.maxAppServerMs),
    );
  }
  return rows;
};
