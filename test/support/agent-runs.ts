import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { Outcome } from '../../src/canonical/events/turn-event.ts';
import type { Usage } from '../../src/canonical/events/usage.ts';
import type { Item, Produced, ToolCall } from '../../src/canonical/request/item.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import type { Workspace } from '../../src/canonical/mcp/workspace.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createAgentRuns } from '../../src/features/agents/run/agent-runs.ts';
import { openAgentGateway } from '../../src/features/agents/run/gateway.ts';
import {
  isTurnEvent,
  type AgentEvent,
  type AgentRunRequest,
  type AgentRuns,
} from '../../src/features/agents/run/port.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { openAgentScene, type AgentScene } from './agent-workers.ts';
import { checkGrammar } from './grammar.ts';
import { planOf } from './plan.ts';
import { turnContext, turnRequest } from './turn-request.ts';

/** What the model does in one answer. */
export type ModelStep =
  | { readonly say: string }
  | { readonly call: ToolCall | ((request: TurnRequest) => ToolCall) }
  | { readonly wait: Promise<unknown> }
  | { readonly end: Outcome }
  | { readonly throws: Error };

export const USAGE: Usage = {
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  totalTokens: 15,
};

/** An engine whose model follows a script: an answer for each request, then "done". */
export class ScriptedEngine implements Engine {
  readonly requests: TurnRequest[] = [];
  /** Model requests that were given up. */
  aborted = 0;
  #script: (readonly ModelStep[])[] = [];

  play(...answers: readonly (readonly ModelStep[])[]): void {
    this.#script = [...answers];
    this.requests.length = 0;
  }

  readonly plan: Engine['plan'] = (request, { budget }) =>
    planOf((signal) => {
      budget.take();
      this.requests.push(request);
      return this.#answer(request, this.#script.shift() ?? [{ say: 'done' }], signal);
    });

  async *#answer(
    request: TurnRequest,
    steps: readonly ModelStep[],
    signal: AbortSignal,
  ): AsyncGenerator<TurnEvent> {
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    signal.addEventListener('abort', () => {
      this.aborted += 1;
      aborted.reject(signal.reason as Error);
    });
    let outcome: Outcome = { kind: 'completed' };
    let isAccepted = false;
    for (const [index, step] of steps.entries()) {
      if ('throws' in step) throw step.throws;
      if ('end' in step) {
        outcome = step.end;
        break;
      }
      if ('wait' in step) {
        await Promise.race([step.wait, aborted.promise]);
        continue;
      }
      if (!isAccepted) yield { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
      isAccepted = true;
      const id = `item_${index}`;
      if ('say' in step) {
        const head: Produced = { kind: 'message', id, role: 'assistant', parts: [] };
        yield { type: 'item-started', item: head };
        yield { type: 'item-delta', itemId: id, at: 'text', delta: step.say };
        yield {
          type: 'item-ended',
          item: { ...head, parts: [{ kind: 'text', text: step.say }], status: 'completed' },
        };
        continue;
      }
      if (outcome.kind === 'completed') outcome = { kind: 'tool-calls' };
      const call = typeof step.call === 'function' ? step.call(request) : step.call;
      const half = Math.ceil(call.input.length / 2);
      yield { type: 'item-started', item: { ...call, id, input: '' } };
      yield { type: 'item-delta', itemId: id, at: 'input', delta: call.input.slice(0, half) };
      yield { type: 'item-delta', itemId: id, at: 'input', delta: call.input.slice(half) };
      yield { type: 'item-ended', item: { ...call, id, status: 'completed' } };
    }
    yield { type: 'turn-ended', outcome, usage: USAGE, at: Date.now() };
  }
}

export const functionCall = (callId: string, name: string, given: object): ToolCall => ({
  kind: 'tool-call',
  tool: 'function',
  callId,
  name,
  input: JSON.stringify(given),
});

export const runs = (callId: string, cmd: string, more: object = {}): ModelStep => ({
  call: functionCall(callId, 'exec_command', { cmd, ...more }),
});

export const patches = (callId: string, input: string): ModelStep => ({
  call: { kind: 'tool-call', tool: 'custom', callId, name: 'apply_patch', input },
});

/** Runs in a workspace with the real app-server, and a scripted model. */
export interface RunsScene extends AgentScene {
  readonly runs: AgentRuns;
  readonly engine: ScriptedEngine;
  /** What codex asked for and was refused. */
  readonly refused: string[];
  readonly bugs: unknown[];
  start(different?: Partial<AgentRunRequest>, signal?: AbortSignal): Promise<StartedRun>;
}

export interface StartedRun {
  readonly run: Awaited<ReturnType<AgentRuns['start']>>;
  /** All events until now. */
  readonly events: AgentEvent[];
  /** All of them, when the run has ended. Rejects as the events do. */
  readonly ended: Promise<readonly AgentEvent[]>;
}

export const openRunsScene = async (workspace: Partial<Workspace> = {}): Promise<RunsScene> => {
  const bugs: unknown[] = [];
  const refused: string[] = [];
  const onBug = (error: unknown): void => void bugs.push(error);
  const gateway = await openAgentGateway({ ambient: systemAmbient, onBug });
  const scene = await openAgentScene({
    workspace: () => workspace,
    options: { gatewayUrl: gateway.url },
    // In the folder of temporary files codex makes no helpers, and without them no terminal.
    environment: { TMPDIR: '/var/tmp' },
  });
  const agentRuns = createAgentRuns({
    workers: scene.workers,
    gateway,
    ambient: systemAmbient,
    onBug,
    onRefused: (what) => refused.push(what),
  });
  const engine = new ScriptedEngine();
  return {
    ...scene,
    runs: agentRuns,
    engine,
    refused,
    bugs,
    async start(different = {}, signal = new AbortController().signal) {
      const run = await agentRuns.start(
        {
          workspace: scene.workspace,
          access: 'write',
          request: turnRequest(),
          context: turnContext(),
          engine,
          tools: null,
          needsApproval: () => false,
          approved: [],
          maxCalls: null,
          ...different,
        },
        signal,
      );
      const events: AgentEvent[] = [];
      const read = async (): Promise<readonly AgentEvent[]> => {
        for await (const event of run.events) events.push(event);
        const broken = checkGrammar(events.filter(isTurnEvent));
        if (broken.length > 0) throw new Error(broken.join('\n'));
        return events;
      };
      const ended = read();
      ended.catch(() => {});
      return { run, events, ended };
    },
    async close() {
      await scene.close();
      await gateway.close();
    },
  };
};

/** The ended items. */
export const itemsOf = (events: readonly AgentEvent[]): readonly Produced[] =>
  events.flatMap((event) => (event.type === 'item-ended' ? [event.item] : []));

/** The outputs of the calls, by call id. */
export const outputsOf = (events: readonly AgentEvent[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    itemsOf(events).flatMap((item) =>
      item.kind === 'hosted-call' && item.modelCallId !== undefined
        ? [[item.modelCallId, item.raw['output']]]
        : [],
    ),
  );

export const outcomeOf = (events: readonly AgentEvent[]): Outcome | null => {
  const last = events.at(-1);
  return last?.type === 'turn-ended' ? last.outcome : null;
};

/** What a request says after the prompt of codex, in short. */
export const shapeOf = ({ items }: Pick<TurnRequest, 'items'>): readonly string[] => items.map(shortItem);

const shortItem = (item: Item): string => {
  if (item.kind === 'message') return item.role;
  if (item.kind === 'tool-call') return `call ${item.name}`;
  return item.kind === 'tool-output' ? 'output' : item.kind;
};
