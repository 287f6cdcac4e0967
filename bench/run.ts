import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { startBareSide } from './bare-side.ts';
import { startBenchModel, type BenchModel } from './model.ts';
import { startProxySide, type ProxySide } from './proxy-side.ts';
import {
  addedBytes,
  BESIDE_BARE,
  BESIDE_NO_RELAY,
  BESIDE_RESPONSES,
  longAnswer,
  throughput,
  timeToFirstDelta,
  warmUp,
  type Row,
} from './rows.ts';
import type { Side } from './workload.ts';

/**
 * Compares the proxy with the bare app-server, in one run and interleaved, so that whatever else the
 * machine does meets both. Both sides answer from the same scripted model. It is a measurement and
 * no test: a figure that misses its target is printed as such, and the exit code is 0 all the same.
 */

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Where Node writes CPU profiles of the proxy. */
    profile: { type: 'string' },
    /** Only the figures whose step has this name: first-delta, throughput, long-answer, bytes, relay, chat. */
    only: { type: 'string' },
  },
});

const ROUNDS = { rounds: 4, requests: 120, atOnce: 16 };

/** The whole proxy beside the bare app-server, and two of its parts beside their absence. */
const STEPS = {
  'first-delta': ({ bare, proxy }) => timeToFirstDelta({ bare, proxy }, 120, BESIDE_BARE),
  throughput: async ({ bare, proxy }) => [await throughput({ bare, proxy }, ROUNDS, BESIDE_BARE)],
  'long-answer': ({ bare, proxy }) => longAnswer({ bare, proxy }, 7),
  bytes: ({ bare, proxy }, model) => addedBytes({ bare, proxy }, model),
  relay: async ({ relayOff, proxy }) => [
    ...(await timeToFirstDelta({ bare: relayOff, proxy }, 120, BESIDE_NO_RELAY)),
    await throughput({ bare: relayOff, proxy }, ROUNDS, BESIDE_NO_RELAY),
  ],
  chat: async ({ proxy }) => [
    ...(await timeToFirstDelta({ bare: proxy, proxy: proxy.chat }, 80, BESIDE_RESPONSES)),
    await throughput({ bare: proxy, proxy: proxy.chat }, ROUNDS, BESIDE_RESPONSES),
  ],
} as const satisfies Record<string, (sides: AllSides, model: BenchModel) => Promise<readonly Row[]>>;

interface AllSides {
  readonly bare: Side;
  readonly proxy: ProxySide;
  readonly relayOff: Side;
}

const measure = async (): Promise<readonly Row[]> => {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-bench-'));
  const model = await startBenchModel();
  const { baseUrl } = model;
  const proxy = await startProxySide({
    name: 'proxy',
    stateDir: path.join(stateDir, 'proxy'),
    baseUrl,
    nodeFlags: flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`],
  });
  const bare = await startBareSide(path.join(stateDir, 'bare'), baseUrl);
  const relayOff = await startProxySide({
    name: 'proxy without relay',
    stateDir: path.join(stateDir, 'relay-off'),
    baseUrl,
    environment: { PROXY_WIRE: 'off' },
  });
  const sides = { bare, proxy, relayOff };
  try {
    await warmUp([bare, proxy, relayOff, proxy.chat], model);
    const rows: Row[] = [];
    for (const [name, step] of Object.entries(STEPS)) {
      if (flags.only === undefined || flags.only === name) rows.push(...(await step(sides, model)));
    }
    return rows;
  } finally {
    await Promise.all([bare.close(), proxy.close(), relayOff.close()]);
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
  }
};

const table = (rows: readonly Row[]): string => {
  const head = ['figure', 'other', 'measured', 'ratio', 'target', ''];
  const lines = [
    head,
    ...rows.map((row) => [
      row.figure,
      row.bare,
      row.proxy,
      row.ratio,
      row.target,
      row.target === '' ? '' : row.reached ? 'reached' : 'MISSED',
    ]),
  ];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const load = (): string =>
  loadavg()
    .map((value) => value.toFixed(2))
    .join(' ');

const before = load();
const startedAt = performance.now();
const rows = await measure();
const seconds = (performance.now() - startedAt) / 1000;
const cores = availableParallelism();
if (flags.json) {
  process.stdout.write(
    `${JSON.stringify({ cores, load: { before, after: load() }, seconds, rows }, null, 2)}\n`,
  );
} else {
  process.stdout.write(
    `${table(rows)}\n\n${cores} cores, shared by the model, the app-server, the proxy and the client; ` +
      `load average before: ${before}; after: ${load()}; ${seconds.toFixed(0)} s\n`,
  );
}
