import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { startBareSide } from './bare-side.ts';
import { startBenchModel } from './model.ts';
import { startProxySide } from './proxy-side.ts';
import { addedBytes, longAnswer, throughput, timeToFirstDelta, warmUp, type Row } from './rows.ts';

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
    /** Without our relay between the app-server and the model. */
    'relay-off': { type: 'boolean', default: false },
    /** Only the figures whose step has this name: first-delta, throughput, long-answer, bytes. */
    only: { type: 'string' },
  },
});

const STEPS = {
  'first-delta': (sides) => timeToFirstDelta(sides, 120),
  throughput: async (sides) => [await throughput(sides, { rounds: 4, requests: 120, atOnce: 16 })],
  'long-answer': (sides) => longAnswer(sides, 7),
  bytes: (sides, model) => addedBytes(sides, model),
} as const satisfies Record<
  string,
  (
    sides: Parameters<typeof addedBytes>[0],
    model: Parameters<typeof addedBytes>[1],
  ) => Promise<readonly Row[]>
>;

const measure = async (): Promise<readonly Row[]> => {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-bench-'));
  const model = await startBenchModel();
  const { baseUrl } = model;
  const proxy = await startProxySide({
    name: 'proxy',
    stateDir: path.join(stateDir, 'proxy'),
    baseUrl,
    environment: flags['relay-off'] ? { PROXY_WIRE: 'off' } : {},
    nodeFlags: flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`],
  });
  const bare = await startBareSide(path.join(stateDir, 'bare'), baseUrl);
  const sides = { bare, proxy };
  try {
    await warmUp(sides, model);
    const rows: Row[] = [];
    for (const [name, step] of Object.entries(STEPS)) {
      if (flags.only === undefined || flags.only === name) rows.push(...(await step(sides, model)));
    }
    return rows;
  } finally {
    await Promise.all([bare.close(), proxy.close()]);
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
  }
};

const table = (rows: readonly Row[]): string => {
  const head = ['figure', 'bare app-server', 'proxy', 'ratio', 'target', ''];
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
