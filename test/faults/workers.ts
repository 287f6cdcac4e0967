import type { AppServer } from '../../src/codex/app-server.ts';
import type { StartWorker, Worker } from '../../src/codex/worker/worker.ts';
import { identityOf, isSameAlive, type ProcessIdentity } from '../support/is-alive.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { startWarm } from '../support/warm-homes.ts';

interface Watched {
  readonly worker: Worker;
  readonly identity: ProcessIdentity;
  /** Threads that were started but not used yet. */
  readonly preStarted: ReadonlySet<string>;
}

/** Every app-server that the fault tests of this process have started, so that a test can query it. */
const started: Watched[] = [];

const startWatched: StartWorker = async (options) => {
  // A hung one is killed after its grace time.
  const worker = await startWarm({ stopGraceMs: 500, ...options });
  const preStarted = new Set<string>();
  started.push({ worker, identity: identityOf(worker.pid), preStarted });
  return { ...worker, appServer: watchSpares(worker.appServer, preStarted) };
};

const watchSpares = (appServer: AppServer, preStarted: Set<string>): AppServer => ({
  watchThread: (threadId, listener) => appServer.watchThread(threadId, listener),
  async request(method, params, options) {
    if (params !== null && 'threadId' in params && typeof params.threadId === 'string')
      preStarted.delete(params.threadId);
    const result = await appServer.request(method, params, options);
    if (method === 'thread/start') preStarted.add((result as { thread: { id: string } }).thread.id);
    return result;
  },
});

export const startedCount = (): number => started.length;

export const livingPids = (): readonly number[] =>
  started.flatMap(({ identity }) => (isSameAlive(identity) ? identity.pid : []));

const gaugeOf = async (worker: Worker, name: string): Promise<number> => {
  if (worker.lost.aborted) return 0;
  try {
    const { gauges } = await worker.appServer.request('server/diagnostics', {});
    return gauges.find((one) => one.name === name)?.value ?? 0;
  } catch (error) {
    // It exited during the query: nothing runs in it any more.
    if (worker.lost.aborted) return 0;
    throw error;
  }
};

/** According to the living app-servers. */
export const activeTurns = async (): Promise<number> => {
  const counts = await Promise.all(started.map(({ worker }) => gaugeOf(worker, 'core.turns.active')));
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Threads of the living app-servers that will not be used any more. */
export const leftThreads = async (): Promise<number> => {
  const counts = await Promise.all(
    started.map(async ({ worker, preStarted }) => {
      const held = await gaugeOf(worker, 'core.threads.live');
      return worker.lost.aborted ? 0 : held - preStarted.size;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Turns and threads that are prepared for requests to come. */
export const preparedIn = async (
  proxy: Pick<TestProxy, 'get'>,
): Promise<Readonly<Record<'turns' | 'threads', number>>> => {
  const page = await (await proxy.get('/metrics')).text();
  const gauge = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'mu').exec(page)?.[1]);
  const turns = gauge('proxy_prestarted_turns_waiting');
  return { turns, threads: turns + gauge('proxy_carrier_threads_idle') };
};

/** The proxy of a fault test. Its app-servers can be queried. */
export const startWatchedProxy: typeof startProxy = (script, env, behind) =>
  startProxy(script, env, { ...behind, startWorker: startWatched });
