import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { createProgressLine } from '../src/cli/progress.ts';
import { duration } from '../src/kit/text/display.ts';
import { closedHost } from '../test/support/closed-host.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { startBareSide } from './bare-side.ts';
import { agentFolders, agentTurns, duringAgent, idleSessions } from './agent-rows.ts';
import { checkOut, compareCommits } from './compare-rows.ts';
import { keyLimits } from './limit-rows.ts';
import { longLog } from './log-rows.ts';
import { AS_A_PROVIDER, hangingRequests, loginCpu, slowSse, startLogin } from './login-rows.ts';
import { startBenchMcp } from './mcp-server.ts';
import { startBenchModel, type BenchModel } from './model.ts';
import { admissionCost, atOnce } from './overload.ts';
import { directSide, startProxySide, type ProxySide } from './proxy-side.ts';
import {
  addedBytes,
  BESIDE_BARE,
  VERSUS_NO_RELAY,
  longAnswer,
  memory,
  memoryOfBoth,
  NO_WORSE,
  refusedConnection,
  throughput,
  TRACED,
  timeToFirstDelta,
  warmUp,
  type Goal,
  type Row,
  type Sides,
} from './rows.ts';
import { startDiscarding } from './discarding-receiver.ts';
import { resumeElsewhere } from './resume-rows.ts';
import { startRows } from './start-rows.ts';
import { cpuPerTurn, firstDeltaBySize } from './size-rows.ts';
import { coldSettings, inputOf, longChains, manyChains, storing } from './state-rows.ts';
import { storeChains } from './stored-chains.ts';
import { agentRequest, manyTools, mcpServer, toolRound } from './tool-rows.ts';
import { idleWebSockets, webSocketConversation } from './websocket-rows.ts';
import { MCP_LABEL, type Side } from './workload.ts';

/**
 * Compares the proxy with the bare app-server, interleaved in one run, so that other load affects both. Both use the
 * same scripted model. This is a measurement, not a test: a missed target is printed, and the exit code is still 0.
 */

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Where Node writes CPU profiles of the proxy. */
    profile: { type: 'string' },
    /** Runs only the step with this name: see `STEPS`. */
    only: { type: 'string' },
    /** Compares with the proxy of another commit instead. */
    compare: { type: 'string' },
  },
});

const ROUNDS = { rounds: 4, requests: 120, atOnce: 16 };
const FEWER_ROUNDS = { ...ROUNDS, rounds: 3 };
const MEMORY_TURNS = 2_000;

/** The whole proxy compared with the bare app-server, and some of its parts with their absence. */
const STEPS = {
  'first-delta': async ({ bare, proxy }, { model }) => {
    const direct = directSide(model.baseUrl);
    try {
      return await firstDeltaBySize({ direct, bare, proxy });
    } finally {
      await direct.close();
    }
  },
  start: async (_, { model, stateDir }) => {
    const direct = directSide(model.baseUrl);
    const options = { name: 'started', stateDir: path.join(stateDir, 'started'), baseUrl: model.baseUrl };
    try {
      return await startRows(direct, () =>
        startProxySide({ ...options, environment: { PROXY_WARMUP: 'on' } }),
      );
    } finally {
      await direct.close();
    }
  },
  cpu: ({ proxy }) => cpuPerTurn(proxy),
  throughput: async ({ bare, proxy }) => [await throughput({ bare, proxy }, ROUNDS, BESIDE_BARE)],
  'long-answer': ({ bare, proxy }) => longAnswer({ bare, proxy }, 7),
  tools: async (sides) => [await toolRound(sides, 60), ...(await manyTools(sides, 40))],
  mcp: async ({ bare }, { start, model, stateDir }) => {
    const server = await startBenchMcp();
    const file = path.join(stateDir, 'mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: { [MCP_LABEL]: { url: server.url } } }));
    const proxy = await start('proxy', model.baseUrl, { PROXY_MCP_CONFIG: file });
    try {
      await warmUp([proxy], model);
      return await mcpServer({ bare, proxy }, server.url, 40);
    } finally {
      await server.close();
    }
  },
  bytes: ({ bare, proxy }, { model }) => addedBytes({ bare, proxy }, model),
  refused: async (_, { start }) => {
    const baseUrl = `http://${await closedHost()}/v1`;
    const on = await start('proxy', baseUrl);
    const off = await start('proxy without relay', baseUrl, { PROXY_WIRE: 'off' });
    return refusedConnection([on, off], 15);
  },
  relay: async ({ proxy }, { start, model }) => {
    const off = await start('proxy without relay', model.baseUrl, { PROXY_WIRE: 'off' });
    return compare({ bare: off, proxy }, model, VERSUS_NO_RELAY);
  },
  login: async ({ proxy }, tools) => {
    const login = await startLogin(tools, 'a login with slow settings');
    const rows = await compare({ bare: proxy, proxy: login }, tools.model, AS_A_PROVIDER);
    return [...rows, ...(await loginCpu(proxy, login, tools.model))];
  },
  'slow-sse': (_, tools) => slowSse(tools),
  hangs: async (_, tools) => [await hangingRequests(tools)],
  workers: async ({ proxy }, { start, model }) => {
    const two = await start('two app-servers', model.baseUrl, { PROXY_WORKERS: '2' });
    return compare({ bare: proxy, proxy: two }, model, NO_WORSE);
  },
  tracing: async ({ proxy }, { start, model }) => {
    const receiver = await startDiscarding();
    try {
      const traced = await start('with tracing', model.baseUrl, {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_METRIC_EXPORT_INTERVAL: '5000',
      });
      return await compare({ bare: proxy, proxy: traced }, model, TRACED);
    } finally {
      await receiver.close();
    }
  },
  chat: ({ proxy }, { model }) => compare({ bare: proxy, proxy: proxy.chat }, model, NO_WORSE),
  messages: async ({ proxy }, { model }) => {
    const sides = { bare: proxy, proxy: proxy.messages };
    return [...(await compare(sides, model, NO_WORSE)), await agentRequest(sides, 80)];
  },
  overload: async (_, { start, model }) => {
    const usual = await start('with its usual limits', model.baseUrl);
    const tight = await start('with room for 64 and 256', model.baseUrl, {
      PROXY_MAX_CONCURRENT_TURNS: '64',
      PROXY_MAX_QUEUED_TURNS: '256',
    });
    await warmUp([usual, tight], model);
    return [await admissionCost(100_000), await atOnce(usual, 1_000), await atOnce(tight, 1_000)];
  },
  storing: async ({ proxy }, { start, model }) => {
    const other = await startWithPostgres(start, model);
    return [...(await storing(proxy, 'SQLite', 1)), ...(await storing(other, 'PostgreSQL', 1.5))];
  },
  chains: async ({ proxy }, { start, model }) => {
    const cold = await start('proxy without memory', model.baseUrl, coldSettings());
    await warmUp([cold], model);
    return longChains({ proxy, cold });
  },
  'many-chains': async (_, { start, model, stateDir }) => {
    const filled = async (count: number) => {
      const own = path.join(stateDir, `chains-${count}`);
      const ids = await storeChains(own, { count, turns: 3, text: inputOf(1) });
      const side = await start(`${count} chains`, model.baseUrl, {
        PROXY_STATE_DIR: own,
        PROXY_ITEM_MEMORY_MB: '0',
      });
      return { side, ids };
    };
    const [few, many] = [await filled(100), await filled(10_000)];
    await warmUp([few.side, many.side], model);
    return manyChains(few, many);
  },
  limits: async ({ proxy }, { start, model }) => {
    const other = await startWithPostgres(start, model);
    return [...(await keyLimits(proxy, 'SQLite', 0.3)), ...(await keyLimits(other, 'PostgreSQL', 0.8))];
  },
  lists: (_, { model, stateDir }) => {
    const own = path.join(stateDir, 'lists');
    return longLog(own, () => startProxySide({ name: 'lists', stateDir: own, baseUrl: model.baseUrl }));
  },
  agent: async (_, { start, model, stateDir }) => {
    const folders = await agentFolders(stateDir);
    const proxy = await start('proxy', model.baseUrl, { PROXY_MCP_CONFIG: folders.configFile });
    await warmUp([proxy], model);
    return [
      ...(await agentTurns(proxy, folders, model.baseUrl, 15)),
      await duringAgent(proxy, 80),
      await idleSessions(proxy),
    ];
  },
  websocket: ({ proxy }) => webSocketConversation(proxy),
  'idle-websockets': async (_, { start, model }) => {
    const proxy = await start('proxy', model.baseUrl, { PROXY_MAX_WEBSOCKETS: '2000' });
    await warmUp([proxy], model);
    return [await idleWebSockets(proxy, 1_000)];
  },
  resume: async (_, { start, model }) => {
    const postgres = await startPostgres();
    const databaseUrl = await postgres.createDatabase();
    const [one, other] = [
      await start('one instance', model.baseUrl, { PROXY_DATABASE_URL: databaseUrl }),
      await start('another instance', model.baseUrl, { PROXY_DATABASE_URL: databaseUrl }),
    ];
    await warmUp([one, other], model);
    return resumeElsewhere(one, other);
  },
  'memory-of-both': async (_, { start, model }) => {
    const proxy = await start('proxy', model.baseUrl);
    return [await memoryOfBoth(proxy, 5_000)];
  },
  // Last, because this process is no longer fresh.
  memory: async ({ bare, proxy }) => [await memory({ bare, proxy }, MEMORY_TURNS)],
} as const satisfies Record<string, (sides: MainSides, tools: StepTools) => Promise<readonly Row[]>>;

const startWithPostgres = async (start: StepTools['start'], model: BenchModel): Promise<ProxySide> => {
  const postgres = await startPostgres();
  const databaseUrl = await postgres.createDatabase();
  const side = await start('with PostgreSQL', model.baseUrl, { PROXY_DATABASE_URL: databaseUrl });
  await warmUp([side], model);
  return side;
};

const compare = async (sides: Sides, model: BenchModel, goal: Goal): Promise<readonly Row[]> => {
  await warmUp([sides.bare, sides.proxy], model);
  return [...(await timeToFirstDelta(sides, 80, goal)), await throughput(sides, FEWER_ROUNDS, goal)];
};

interface MainSides {
  readonly bare: Side;
  readonly proxy: ProxySide;
}

interface StepTools {
  readonly model: BenchModel;
  readonly stateDir: string;
  /** One more proxy, until the end of the step. */
  start(
    name: string,
    baseUrl: string | null,
    environment?: Readonly<Record<string, string>>,
  ): Promise<ProxySide>;
}

const progressLine = createProgressLine({ stream: process.stderr, environment: process.env });
const say = progressLine.besides((text) => void process.stderr.write(text));
const startedAt = performance.now();

/** The steps to run, by their names. */
const chosenSteps = () => {
  const steps = Object.entries(STEPS).filter(([name]) => flags.only === undefined || flags.only === name);
  if (steps.length > 0) return steps;
  throw new Error(`There is no step ${flags.only}. Steps: ${Object.keys(STEPS).join(', ')}.`);
};

const measure = async (): Promise<readonly Row[]> => {
  const steps = chosenSteps();
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
  const others: ProxySide[] = [];
  const closeOthers = async (): Promise<void> => {
    await Promise.all(others.splice(0).map((side) => side.close()));
  };
  const tools: StepTools = {
    model,
    stateDir,
    async start(name, url, environment = {}) {
      const own = await mkdtemp(path.join(stateDir, 'other-'));
      const side = await startProxySide({ name, stateDir: own, baseUrl: url, environment });
      others.push(side);
      return side;
    },
  };
  try {
    const warming = progressLine.start('warming up');
    await warmUp([bare, proxy], model).finally(() => warming.end());
    const rows: Row[] = [];
    for (const [index, [name, step]] of steps.entries()) {
      const left = steps.length - index - 1;
      const soFar = duration(performance.now() - startedAt);
      const title = `${name} (${index + 1} of ${steps.length}, ${left} left, ${soFar} so far)`;
      say(`${title}\n`);
      const progress = progressLine.start(`measuring ${title}`);
      const measured = await step({ bare, proxy }, tools).finally(() => progress.end());
      rows.push(...measured);
      say(`${table(measured)}\n`);
      await closeOthers();
    }
    return rows;
  } finally {
    await Promise.all([bare.close(), proxy.close(), closeOthers()]);
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
  }
};

/** This commit and another one, in alternating runs. */
const measureCommits = async (revision: string): Promise<readonly Row[]> => {
  const room = await mkdtemp(path.join(tmpdir(), 'proxy-bench-'));
  const root = path.join(room, 'other');
  const preparing = progressLine.start(`checking out ${revision}`);
  await checkOut(revision, root).finally(() => preparing.end());
  const model = await startBenchModel();
  const { baseUrl } = model;
  const sides = {
    bare: await startProxySide({ name: revision, stateDir: path.join(room, 'state'), baseUrl, root }),
    proxy: await startProxySide({ name: 'this commit', stateDir: path.join(room, 'own-state'), baseUrl }),
  };
  try {
    return await compareCommits(sides, model);
  } finally {
    await Promise.all([sides.bare.close(), sides.proxy.close()]);
    await model.close();
    await rm(room, { recursive: true, force: true });
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
const rows = await (flags.compare === undefined ? measure() : measureCommits(flags.compare));
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
