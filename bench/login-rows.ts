import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { HANGING, HANGS_EVERY, madeUpLogin, SLOW_SSE, SLOW_SSE_MS } from './chatgpt-backend.ts';
import type { BenchModel } from './model.ts';
import type { ProxySide } from './proxy-side.ts';
import { compareTimes, firstDeltas, ms, SHORT, warmUp, type Goal, type Row } from './rows.ts';
import { cpuOfTurns, type UsedCpu } from './size-rows.ts';
import { median, quantile } from './statistics.ts';

/** A proxy with a made-up ChatGPT login. */
export interface Logins {
  readonly model: BenchModel;
  readonly stateDir: string;
  start(
    name: string,
    baseUrl: string | null,
    environment?: Readonly<Record<string, string>>,
  ): Promise<ProxySide>;
}

/** As fast as a provider. */
export const AS_A_PROVIDER: Goal = { firstDelta: { maxAddedMs: 0.5 }, leastRate: 0.95 };

const CPU_ROUNDS = 4;
const TURNS_PER_ROUND = 100;
const MAX_CPU_MS = 6.5;
const MAX_ADDED_CPU_MS = 1;

/** CPU a request of both processes, of a provider and of a login in turn. */
export const loginCpu = async (
  provider: ProxySide,
  login: ProxySide,
  model: BenchModel,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const ask of [SHORT, { ...SHORT, deltas: 200 }]) {
    await model.prepare(ask.deltas);
    const used = { provider: [] as UsedCpu[], login: [] as UsedCpu[] };
    for (let round = 0; round < CPU_ROUNDS; round += 1) {
      const names = ['provider', 'login'] as const;
      for (const name of round % 2 === 0 ? names : names.toReversed())
        used[name].push(
          await cpuOfTurns(name === 'provider' ? provider : login, { ask, turns: TURNS_PER_ROUND }),
        );
    }
    const parts = (name: 'provider' | 'login') =>
      (['node', 'appServer'] as const).map((part) => median(used[name].map((one) => one[part])));
    const [theirNode = Number.NaN, theirAppServer = Number.NaN] = parts('provider');
    const [node = Number.NaN, appServer = Number.NaN] = parts('login');
    const added = node + appServer - theirNode - theirAppServer;
    const most = ask === SHORT ? MAX_CPU_MS : null;
    rows.push({
      figure: `${ask.deltas} deltas, ${login.name} vs. a provider: CPU a request (Node + app-server)`,
      bare: `${ms(theirNode)} + ${ms(theirAppServer)}`,
      proxy: `${ms(node)} + ${ms(appServer)}`,
      ratio: `${added < 0 ? '' : '+'}${ms(added)}`,
      target: `≤ +${MAX_ADDED_CPU_MS} ms${most === null ? '' : `, ≤ ${most} ms`}`,
      reached: added <= MAX_ADDED_CPU_MS && (most === null || node + appServer <= most),
      numbers: { rounds: CPU_ROUNDS, node, appServer, theirNode, theirAppServer },
    });
  }
  return rows;
};

/** `worse` makes its backend worse: see `chatgpt-backend.ts`. */
export const startLogin = async (
  { model, stateDir, start }: Logins,
  name: string,
  worse: string | null = null,
  environment: Readonly<Record<string, string>> = {},
): Promise<ProxySide> => {
  const codexHome = path.join(stateDir, `login-${name.replaceAll(/\W+/gu, '-')}`);
  await mkdir(codexHome, { recursive: true });
  await writeFile(path.join(codexHome, 'auth.json'), madeUpLogin(Date.now()));
  const base = model.chatgptBaseUrl;
  return start(name, null, {
    CODEX_HOME: codexHome,
    PROXY_CHATGPT_BASE_URL: worse === null ? base : base.replace(/\/backend-api$/u, `/${worse}/backend-api`),
    ...environment,
  });
};

const MAX_ADDED_MS = 10;
const SAMPLES = 60;
/** Each of them takes seconds. */
const POST_SAMPLES = 5;

/** A backend that is slow over POST should not be slow: a WebSocket is what is measured, and then POST. */
export const slowSse = async (logins: Logins): Promise<readonly Row[]> => {
  const usual = await startLogin(logins, 'a login');
  const slow = await startLogin(logins, `with SSE slower by ${SLOW_SSE_MS} ms`, SLOW_SSE);
  const posting = await startLogin(logins, 'by POST', SLOW_SSE, { PROXY_CHATGPT_TRANSPORT: 'http' });
  await warmUp([usual, slow], logins.model);
  const times = await firstDeltas({ bare: () => usual.run(SHORT), proxy: () => slow.run(SHORT) }, SAMPLES);
  const [theirs, ours] = [median(times.bare), median(times.proxy)];
  const posted: number[] = [];
  for (let index = 0; index < POST_SAMPLES; index += 1) posted.push((await posting.run(SHORT)).firstDeltaMs);
  return [
    {
      figure: `a login ${slow.name} vs. without: time to first text delta, p50`,
      bare: ms(theirs),
      proxy: ms(ours),
      ...compareTimes(ours, theirs, { maxAddedMs: MAX_ADDED_MS }),
      numbers: { samples: SAMPLES, bareMs: theirs, proxyMs: ours },
    },
    {
      figure: '  the same with PROXY_CHATGPT_TRANSPORT=http',
      bare: ms(theirs),
      proxy: ms(median(posted)),
      ratio: '',
      target: '',
      reached: true,
      numbers: { samples: POST_SAMPLES, proxyMs: median(posted) },
    },
  ];
};

const REQUESTS = 200;
const WITHIN_MS = 60_000;
const LEAST_SHARE = 0.99;

/** Requests that hang before their first event, with the usual limits. All at once: they wait together. */
export const hangingRequests = async (logins: Logins): Promise<Row> => {
  const side = await startLogin(logins, 'a login', HANGING);
  const { served, refused, broken } = await side.burst(REQUESTS);
  const share = served.filter((time) => time <= WITHIN_MS).length / REQUESTS;
  return {
    figure: `1 in ${HANGS_EVERY} requests hangs before its first event, ${REQUESTS} at once: answered within ${WITHIN_MS / 1000} s`,
    bare: `slowest ${(Math.max(...served) / 1000).toFixed(1)} s`,
    proxy: `${(share * 100).toFixed(1)} %`,
    ratio: `${refused.length + broken} failed`,
    target: `≥ ${LEAST_SHARE * 100} %`,
    reached: share >= LEAST_SHARE,
    numbers: {
      requests: REQUESTS,
      share,
      failed: refused.length + broken,
      p50Ms: quantile(served, 0.5),
      p95Ms: quantile(served, 0.95),
      p99Ms: quantile(served, 0.99),
    },
  };
};
