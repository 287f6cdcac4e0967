import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Session, type Profiler } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';

import { createApp, type App } from '../src/compose/app.ts';
import { loadConfig } from '../src/compose/features.ts';
import { createLogger } from '../src/observe/log.ts';
import { startBenchModel } from './model.ts';
import { promptOf } from './workload.ts';

/**
 * Counts what one streamed request costs in this process: async generators, accumulators, and calls of functions of
 * `src`, from the HTTP handler to the last frame. Unlike timings, counts do not depend on the machine's load. V8 counts
 * each resumption of a generator or async function as a call.
 */

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    /** Only the short conversation: what `test/conformance/walk.test.ts` compares with its limits. */
    walk: { type: 'boolean', default: false },
    /** Prints this many of the most called functions. */
    top: { type: 'string', default: '0' },
  },
});

const KEY = 'sk-bench-key-0123456789';
const SRC = path.join(import.meta.dirname, '../src/');
/** The difference between the first two is the cost of a delta. The last is a long conversation. */
const REQUESTS: readonly RequestShape[] = [
  { items: 1, deltas: 16, isSlow: true },
  { items: 1, deltas: 48, isSlow: true },
  { items: 6_001, deltas: 16, isSlow: false },
];
/** The first requests start threads and compile code. */
const WARM_UP = 3;
const MEASURED = 4;

interface RequestShape {
  readonly items: number;
  readonly deltas: number;
  /** The model pauses between deltas: each one is read, rendered and sent on its own. */
  readonly isSlow: boolean;
}

interface Counts {
  readonly items: number;
  readonly deltas: number;
  readonly frames: number;
  readonly files: number;
  readonly functions: number;
  readonly generators: number;
  readonly accumulators: number;
  readonly calls: number;
  readonly busiest: readonly string[];
}

/** Counts generators by the objects whose `next` is called: V8 has no counter for them. */
const watchGenerators = (): { taken(): number } => {
  // oxlint-disable-next-line require-yield -- Only its prototype is wanted.
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())) as {
    next: (this: object, ...values: unknown[]) => unknown;
  };
  const { next } = prototype;
  let seen = new Set<object>();
  prototype.next = function counted(...values) {
    seen.add(this);
    return next.apply(this, values);
  };
  return {
    taken() {
      const { size } = seen;
      seen = new Set();
      return size;
    },
  };
};

const bodyOf = ({ items, deltas, isSlow }: RequestShape): object => {
  const turns = Array.from({ length: items - 1 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `Message ${index} of a long conversation.`,
  }));
  const last = { role: 'user', content: promptOf({ model: 'gpt-5.5', deltas, isSlow }) };
  return { model: 'gpt-5.5', input: [...turns, last], stream: true };
};

const ask = async (app: App, shape: RequestShape): Promise<number> => {
  const response = await app.fetch(
    new Request('http://127.0.0.1/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(shape)),
    }),
  );
  const text = await response.text();
  if (!text.includes('event: response.completed')) throw new Error(`no answer: ${text.slice(0, 500)}`);
  return text.split('\n\n').length - 1;
};

const sources = new Map<string, string>();
const sourceOf = async (url: string): Promise<string> => {
  const known = sources.get(url) ?? (await readFile(fileURLToPath(url), 'utf8'));
  sources.set(url, known);
  return known;
};

interface CalledFunction {
  readonly file: string;
  readonly name: string;
  readonly count: number;
}

const calledOf = async (scripts: readonly Profiler.ScriptCoverage[]): Promise<readonly CalledFunction[]> => {
  const called: CalledFunction[] = [];
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(SRC)) continue;
    const source = await sourceOf(url);
    const file = fileURLToPath(url).slice(SRC.length);
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0) continue;
      const line = source.slice(0, whole.startOffset).split('\n').length;
      called.push({ file, name: `${file}:${line} ${functionName}`, count: whole.count });
    }
  }
  return called;
};

/** V8's name of what runs for each object of a class with fields. */
const FIELDS = '<instance_members_initializer>';
const ACCUMULATOR = 'canonical/events/accumulate.ts';

/** The later of the two classes in that file. */
const accumulatorsAmong = (called: readonly CalledFunction[]): number =>
  called.findLast(({ name }) => name.startsWith(`${ACCUMULATOR}:`) && name.endsWith(FIELDS))?.count ?? 0;

const measure = async (requests: readonly RequestShape[]): Promise<readonly Counts[]> => {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-calls-'));
  const model = await startBenchModel();
  const config = loadConfig({
    PORT: '0',
    PROXY_API_KEY: KEY,
    PROXY_STATE_DIR: stateDir,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_CODEX_WORKDIR: path.join(stateDir, 'work'),
  });
  const logger = createLogger({ level: 'silent', secrets: [], destination: { write() {} } });
  const generators = watchGenerators();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const app = await createApp(config, { environment: process.env, logger });
  const countOne = async (shape: RequestShape): Promise<Counts> => {
    // Threads are released after the answer.
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    generators.taken();
    await session.post('Profiler.takePreciseCoverage');
    const frames = await ask(app, shape);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const called = await calledOf(result);
    return {
      items: shape.items,
      deltas: shape.deltas,
      frames,
      files: new Set(called.map(({ file }) => file)).size,
      functions: called.length,
      generators: generators.taken(),
      accumulators: accumulatorsAmong(called),
      calls: called.reduce((sum, { count }) => sum + count, 0),
      busiest: called
        .toSorted((one, other) => other.count - one.count)
        .slice(0, Number(flags.top))
        .map(({ name, count }) => `${String(count).padStart(8)}  ${name}`),
    };
  };
  try {
    const results: Counts[] = [];
    for (const shape of requests) {
      for (let nth = 0; nth < WARM_UP; nth += 1) await ask(app, shape);
      // The fewest calls of some: the others also counted what a timer did meanwhile.
      let fewest = await countOne(shape);
      for (let nth = 1; nth < MEASURED; nth += 1) {
        const next = await countOne(shape);
        if (next.calls < fewest.calls) fewest = next;
      }
      results.push(fewest);
    }
    return results;
  } finally {
    await app.stop(5_000);
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
  }
};

const counts = await measure(flags.walk ? REQUESTS.slice(0, 2) : REQUESTS);
const [short, longer] = counts;
if (short === undefined || longer === undefined) throw new Error('nothing was measured');
const callsPerDelta = Math.round((longer.calls - short.calls) / (longer.deltas - short.deltas));
/** The walk of a plain stream: its files and functions, the calls of the request itself and those of each delta. */
const walk = {
  files: short.files,
  functions: short.functions,
  calls: short.calls - callsPerDelta * short.deltas,
  callsPerDelta,
};
if (flags.json) process.stdout.write(`${JSON.stringify({ walk, counts }, null, 2)}\n`);
else {
  for (const { busiest, ...figures } of counts) {
    const said = Object.entries(figures).map(([name, value]) => `${value.toLocaleString('en')} ${name}`);
    process.stdout.write([said.join(', '), ...busiest, ''].join('\n'));
  }
  process.stdout.write(
    `${walk.files} files, ${walk.functions} functions; ${walk.calls} calls + ${walk.callsPerDelta} per delta\n`,
  );
}
