import type { RequestTrace } from '../../src/canonical/context/request-trace.ts';
import { CallableTools } from '../../src/canonical/request/tool.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import type { TurnContext } from '../../src/canonical/context/turn-context.ts';
import type { SourceOptions, UpstreamEvent } from '../../src/codex/sources/source.ts';
import type { TurnSignal } from '../../src/engine/drivers/driver.ts';
import { CarriedTurn } from '../../src/engine/drivers/relay/carried-turn.ts';
import type { McpTurn } from '../../src/engine/mcp/mcp-turn.ts';
import type { Draft } from '../../src/engine/plan/draft-turn.ts';
import { SHAPE } from './edited.ts';
import { never } from './fake-pool.ts';
import { preStarting } from './pre-starting.ts';
import { recordingTrace } from './recording-trace.ts';
import { fixedAmbient } from './turn-events.ts';
import { functionTool, turnContext, turnRequest } from './turn-request.ts';

/** Turns on a fake worker. The catalogue entry of every model is `slug-of-` its name. */
export const carrying = (max = 8) => {
  const all = preStarting(max);
  const deps = { ...all.planDeps, preStarted: all.turns, slugOf: (name: string) => `slug-of-${name}` };
  /** A turn that has not been started, and the signals that it will receive. */
  const turnOf = (request: Partial<TurnRequest> = {}, context: Partial<TurnContext> = {}) => {
    const signals: TurnSignal[] = [];
    const turn = new CarriedTurn(deps, all.worker.lease, {
      draft: { strategy: SHAPE.strategy, request: turnRequest(request) } as unknown as Draft,
      context: turnContext({ caller: { keyId: 'one' }, ...context }),
      signal: never,
      mayRetry: () => false,
      approved: new Map(),
    });
    const start = (mcp: McpTurn | null = null): Promise<string> =>
      turn.start(mcp, (signal) => signals.push(signal));
    return { turn, start, signals };
  };
  /** The relay reports something about the newest turn. */
  const upstream = (signal: UpstreamEvent): void =>
    all.relay.turns.at(-1)?.claims.at(-1)?.onUpstreamEvent(signal);
  /** Methods in calling order. */
  const methods = (): readonly string[] => all.worker.calls.map(([method]) => method);
  return { ...all, turnOf, upstream, methods };
};

/** The servers of one turn, of which only the config is used. */
export const fakeMcp = (
  prepare: (request: TurnRequest) => Promise<TurnRequest> = (request) => Promise.resolve(request),
): McpTurn =>
  ({
    config: { docs: {} },
    startThread: (appServer: { request: (method: string, params: object) => unknown }, params: object) =>
      appServer.request('thread/start', params),
    prepare,
  }) as unknown as McpTurn;

export const sourceOptions = (): SourceOptions => ({
  turnId: 'turn-1',
  callable: new CallableTools([functionTool('f')]),
  findMcpTool: () => null,
  parallelToolCalls: true,
  ambient: fixedAmbient(),
  onAnomaly() {},
});

/** A trace that keeps what is recorded. */
export const keptTrace = (): RequestTrace & { readonly facts: unknown[] } => {
  const facts: unknown[] = [];
  return Object.assign(
    recordingTrace((kind, fact) => void facts.push([kind, fact])),
    { facts },
  );
};
