import { ok, warning, type Check, type Finding } from './finding.ts';
import { failureOf, type Answer } from './turns.ts';

export type TransportChoice = 'auto' | 'websocket' | 'http';

/** A streamed turn over one transport. */
export interface StreamedTurn {
  readonly answer: Answer;
  /** Until its first output; null: it had none. */
  readonly firstMs: number | null;
}

/** What a transport achieved. */
export interface MeasuredTransport {
  /** Null: the turn failed. */
  readonly firstMs: number | null;
  readonly finding: Finding;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 1_000 ? 2 : 1)} s`;

const NAMES = { websocket: 'WebSocket', http: 'POST' } as const;

/** Pure. What a turn over this transport says about it. `signIn` says how to sign in. */
export const judgeTransport = (
  transport: 'websocket' | 'http',
  { answer, firstMs }: StreamedTurn,
  signIn: string | null,
): MeasuredTransport => {
  const failed = failureOf(answer, signIn);
  if (failed === null && firstMs !== null) {
    const dial = transport === 'websocket' ? ' (the upgrade was answered with 101)' : '';
    const finding = ok(`first output after ${seconds(firstMs)}${dial}`, { firstOutputMs: firstMs });
    return { firstMs, finding };
  }
  const said = failed?.says ?? 'the answer had no output';
  const outcome = /\(WS_([\w-]+)\)/.exec(said)?.[1] ?? null;
  // Any other failure is that of the request, which the lines above report.
  const finding =
    outcome === null
      ? warning(said, failed?.advice ?? 'run doctor again')
      : warning(`the upgrade was answered with ${outcome}`, REFUSED, { upgrade: outcome });
  return { firstMs: null, finding };
};

const REFUSED =
  'requests are posted instead, which is only slower; if it stays so, set PROXY_CHATGPT_TRANSPORT=http';

/** How much faster a transport has to be to be called so: two single turns differ by chance. */
const CLEARLY = 0.8;

/** Pure. Which transport is faster for this account; null: one of them failed. */
export const compareTransports = (
  websocketMs: number | null,
  httpMs: number | null,
  configured: TransportChoice,
): Finding | null => {
  if (websocketMs === null || httpMs === null) return null;
  const isSocketFaster = websocketMs <= httpMs;
  const [faster, slower] = isSocketFaster ? [websocketMs, httpMs] : [httpMs, websocketMs];
  const name = NAMES[isSocketFaster ? 'websocket' : 'http'];
  const facts = { websocketMs, httpMs, faster: isSocketFaster ? 'websocket' : 'http' };
  if (faster > slower * CLEARLY)
    return ok(`equally fast: WebSocket ${seconds(websocketMs)}, POST ${seconds(httpMs)}`, facts);
  const says = `${name} is faster for this account: ${seconds(faster)} instead of ${seconds(slower)}`;
  if (isSocketFaster && configured === 'http')
    return warning(says, 'remove PROXY_CHATGPT_TRANSPORT=http', facts);
  if (!isSocketFaster && configured !== 'http')
    return warning(says, 'if this is so every time, set PROXY_CHATGPT_TRANSPORT=http', facts);
  return ok(says, facts);
};

export interface TransportCheckOptions {
  readonly configured: TransportChoice;
  readonly signIn: string | null;
  readonly limitMs: number;
  /** Runs a turn over a transport, with a connection that is already open. */
  readonly turn: (transport: 'websocket' | 'http', signal: AbortSignal) => Promise<StreamedTurn>;
}

/** Measures both transports with a turn each, and compares them. */
export const checkTransports = async (
  ask: (check: Check) => Promise<unknown>,
  { configured, signIn, limitMs, turn }: TransportCheckOptions,
): Promise<void> => {
  const measured: { websocket: number | null; http: number | null } = { websocket: null, http: null };
  for (const transport of ['websocket', 'http'] as const) {
    await ask({
      name: NAMES[transport],
      limitMs,
      run: async (signal) => {
        const { firstMs, finding } = judgeTransport(transport, await turn(transport, signal), signIn);
        measured[transport] = firstMs;
        return finding;
      },
    });
  }
  const finding = compareTransports(measured.websocket, measured.http, configured);
  if (finding !== null) await ask({ name: 'transport', limitMs: 1_000, run: () => finding });
};
