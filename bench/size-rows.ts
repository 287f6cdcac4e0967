import { setTimeout as sleep } from 'node:timers/promises';

import type { JsonObject } from '../src/kit/json/json.ts';
import { cpuMs } from './processes.ts';
import type { ProxySide } from './proxy-side.ts';
import { compareTimes, ms, REST_MS, SHORT, type Row } from './rows.ts';
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
  { name: '1 KB', kb: 1, samples: 80, maxAddedMs: 5, maxOfBare: 0.2, turns: 400, maxNodeMs: 4, maxAppServerMs: 15 },
  { name: '64 KB', kb: 64, samples: 50, maxAddedMs: 8, maxOfBare: null, turns: 0, maxNodeMs: null, maxAppServerMs: null },
  { name: '512 KB', kb: 512, samples: 30, maxAddedMs: 20, maxOfBare: null, turns: 60, maxNodeMs: 15, maxAppServerMs: null },
  { name: '4 MB', kb: 4_096, samples: 11, maxAddedMs: 80, maxOfBare: null, turns: 16, maxNodeMs: 90, maxAppServerMs: 25 },
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

/** CPU of our process and of its app-server, per turn, one turn after the other. */
export const cpuPerTurn = async (proxy: ProxySide): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const size of SIZES.filter(({ turns }) => turns > 0)) {
    const ask = conversationOf(size);
    for (let index = 0; index < WARM_UP; index += 1) await proxy.run(ask);
    await sleep(SETTLE_MS);
    const pids = await proxy.pids();
    const used = () => Promise.all([cpuMs(pids.node), cpuMs(pids.appServer)]);
    const before = await used();
    for (let index = 0; index < size.turns; index += 1) await proxy.run(ask);
    await sleep(SETTLE_MS);
    const after = await used();
    const [node, appServer] = [after[0] - before[0], after[1] - before[1]].map((all) => all / size.turns);
    const row = (name: string, value = Number.NaN, most: number | null): Row => ({
      figure: `${size.name}: CPU of ${name} per turn, ${size.turns} in a row`,
      bare: '',
      proxy: ms(value),
      ratio: '',
      target: most === null ? '' : `≤ ${most} ms`,
      reached: most === null || value <= most,
      numbers: { turns: size.turns, ms: value },
    });
    rows.push(
      row('our Node process', node, size.maxNodeMs),
      row('the app-server', appServer, size.maxAppServerMs),
    );
  }
  return rows;
};
