import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { JsonObject } from '../src/kit/json/json.ts';
import { cpuMs } from './processes.ts';
import type { ProxySide, Sent } from './proxy-side.ts';
import { compareTimes, ms, REST_MS, type Goal, type Row } from './rows.ts';
import { median } from './statistics.ts';
import { DELTA, promptOf } from './workload.ts';

/** What storing costs, and what it saves. */

const LINE = 'A line of a message, with "quotes" and a break, like the ones in code or prose.\n';
const PROMPT = promptOf({ model: 'gpt-5.5', deltas: 16 });
const ANSWER = DELTA.repeat(16);

/** The input of one turn: the prompt and some text. */
export const inputOf = (kb: number): string => PROMPT + LINE.repeat(Math.ceil((kb * 1024) / LINE.length));

type Kind = 'other' | 'ours';
type Runs = Readonly<Record<Kind, () => Promise<Sent>>>;

/** So many requests of a kind compile the code that only they use. They need no rest between them. */
const WARM_UP = 200;

/** Medians of two kinds of requests, which alternate. */
const comparedTimes = async (runs: Runs, samples: number) => {
  const sent = { other: [] as Sent[], ours: [] as Sent[] };
  for (let index = 0; index < WARM_UP; index += 1) {
    await runs.other();
    await runs.ours();
  }
  for (let index = 0; index < samples; index += 1) {
    for (const kind of index % 2 === 0 ? (['other', 'ours'] as const) : (['ours', 'other'] as const)) {
      await sleep(REST_MS);
      sent[kind].push(await runs[kind]());
    }
  }
  return sent;
};

export const rowsOf = async (
  figure: string,
  runs: Runs,
  samples: number,
  goals: Readonly<Partial<Record<'firstDeltaMs' | 'endMs', Goal['firstDelta']>>>,
): Promise<readonly Row[]> => {
  const sent = await comparedTimes(runs, samples);
  return (['firstDeltaMs', 'endMs'] as const).map((what): Row => {
    const [ours, other] = [
      median(sent.ours.map((one) => one[what])),
      median(sent.other.map((one) => one[what])),
    ];
    const goal = goals[what];
    const compared = compareTimes(ours, other, goal ?? { maxAddedMs: Number.POSITIVE_INFINITY });
    return {
      figure: `${figure}: ${what === 'endMs' ? 'end' : 'first delta'}, p50`,
      bare: ms(other),
      proxy: ms(ours),
      ...compared,
      ...(goal === undefined ? { target: '' } : {}),
      numbers: { samples, otherMs: other, oursMs: ours },
    };
  });
};

/** CPU of our process per request, in blocks that alternate, because other load does not change it. */
const cpuRow = async (
  figure: string,
  sides: Readonly<Record<Kind, ProxySide>>,
  runs: Runs,
  {
    blocks,
    turns,
    maxAddedMs,
  }: { readonly blocks: number; readonly turns: number; readonly maxAddedMs: number },
): Promise<Row> => {
  const used = { other: 0, ours: 0 };
  for (let block = 0; block < blocks; block += 1) {
    for (const kind of block % 2 === 0 ? (['other', 'ours'] as const) : (['ours', 'other'] as const)) {
      const { node } = await sides[kind].pids();
      const before = await cpuMs(node);
      for (let turn = 0; turn < turns; turn += 1) await runs[kind]();
      await sleep(SETTLE_MS);
      used[kind] += (await cpuMs(node)) - before;
    }
  }
  const [ours, other] = [used.ours / blocks / turns, used.other / blocks / turns];
  return {
    figure: `${figure}: CPU of our process`,
    bare: ms(other),
    proxy: ms(ours),
    ...compareTimes(ours, other, { maxAddedMs }),
    target: '',
    numbers: { turns: blocks * turns, otherMs: other, oursMs: ours },
  };
};

const SETTLE_MS = 200;

/** A stored response compared with one that is not. */
export const storing = async (
  proxy: ProxySide,
  database: string,
  maxEndMs: number,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const [kb, samples] of [
    [1, 150],
    [64, 60],
  ] as const) {
    const input = inputOf(kb);
    const runs: Runs = {
      other: () => proxy.send({ input, store: false }),
      ours: () => proxy.send({ input, store: true }),
    };
    const figure = `${kb} KB: a stored response vs. store: false, ${database}`;
    const goals = { firstDeltaMs: { maxAddedMs: 1 }, endMs: { maxAddedMs: maxEndMs } };
    rows.push(
      ...(await rowsOf(figure, runs, samples, goals)),
      await cpuRow(figure, { other: proxy, ours: proxy }, runs, { blocks: 4, turns: 60, maxAddedMs: 1 }),
    );
  }
  return rows;
};

const CHAIN_TURNS = 200;
const TURN_KB = 3;

const userItem = (): JsonObject => ({ role: 'user', content: inputOf(TURN_KB) });
export const answerItem: JsonObject = { role: 'assistant', content: [{ type: 'output_text', text: ANSWER }] };

/** A conversation by `previous_response_id`, and the same one as a client would send it. */
const longConversation = async (chained: ProxySide, sent: ProxySide): Promise<Runs> => {
  const history: JsonObject[] = [];
  let previous: string | null = null;
  const next = async (): Promise<Sent> => {
    const answer: Sent = await chained.send({
      input: [userItem()],
      previous_response_id: previous,
      store: true,
    });
    previous = answer.id;
    history.push(userItem(), answerItem);
    return answer;
  };
  for (let turn = 0; turn < CHAIN_TURNS; turn += 1) await next();
  return { ours: next, other: () => sent.send({ input: [...history, userItem()], store: false }) };
};

export interface ChainSides {
  readonly proxy: ProxySide;
  /** Keeps no conversation in memory, and encrypts what it stores. */
  readonly cold: ProxySide;
}

/** Settings of the cold side. */
export const coldSettings = (): Readonly<Record<string, string>> => ({
  PROXY_ITEM_MEMORY_MB: '0',
  PROXY_STORE_KEY: randomBytes(32).toString('hex'),
});

/** A follow-up of a long chain compared with the whole history, which is not stored. */
export const longChains = async ({ proxy, cold }: ChainSides): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  const cases = [
    ['in memory', proxy, { maxRatio: 1 }],
    ['cold, encrypted', cold, { maxAddedMs: 10 }],
  ] as const;
  for (const [name, side, goal] of cases) {
    const runs = await longConversation(side, proxy);
    const figure = `a chain of ${CHAIN_TURNS} turns, ${name}, vs. its history sent`;
    rows.push(
      ...(await rowsOf(figure, runs, 40, { firstDeltaMs: goal })),
      await cpuRow(figure, { ours: side, other: proxy }, runs, { blocks: 4, turns: 10, maxAddedMs: 0 }),
    );
  }
  return rows;
};

export interface FilledSide {
  readonly side: ProxySide;
  /** The last responses of its chains. */
  readonly ids: readonly string[];
}

/** A follow-up of one of many chains compared with one of few. */
export const manyChains = async (few: FilledSide, many: FilledSide): Promise<readonly Row[]> => {
  const runOf = ({ side, ids }: FilledSide) => {
    let nth = 0;
    return () => {
      nth += 1;
      // Far apart, so that no page of the file is in use already.
      const previous = ids[(nth * 7_919) % ids.length];
      return side.send({ input: PROMPT, previous_response_id: previous, store: true });
    };
  };
  const runs = { other: runOf(few), ours: runOf(many) };
  const figure = `one of ${many.ids.length.toLocaleString('en')} stored chains vs. one of ${few.ids.length}`;
  const goal = { maxAddedMs: 1 };
  return [
    ...(await rowsOf(figure, runs, 100, { firstDeltaMs: goal, endMs: goal })),
    await cpuRow(figure, { other: few.side, ours: many.side }, runs, { blocks: 4, turns: 40, maxAddedMs: 0 }),
  ];
};
