import type { TurnEnded, TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { Workspace } from '../../src/canonical/mcp/workspace.ts';
import type { RawItem } from '../../src/canonical/request/item.ts';
import type {
  AgentEvent,
  AgentRun,
  AgentRunRequest,
  AgentRuns,
  CodexTool,
} from '../../src/features/agents/run/port.ts';

export const workspaceNamed = (label: string, different: Partial<Workspace> = {}): Workspace => ({
  label,
  path: `/srv/${label}`,
  configuredPath: `/srv/${label}`,
  access: 'write',
  network: 'none',
  read: [],
  write: [],
  hide: [],
  git: false,
  env: {},
  requireApproval: 'always',
  runs: 1,
  maxSeconds: 1800,
  maxModelRequests: 200,
  callSeconds: 600,
  ...different,
});

/** Events of a run, or what it does: it may look at its signal. */
export type RunScript = (
  run: AgentRunRequest,
  signal: AbortSignal,
) => AsyncIterable<AgentEvent> | readonly AgentEvent[];

/** Runs by a script in place of codex. */
export class ScriptedRuns implements AgentRuns {
  readonly started: AgentRunRequest[] = [];
  readonly #script: RunScript;
  readonly #active = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** Thrown in place of the next start. */
  refusal: Error | null = null;

  constructor(script: RunScript) {
    this.#script = script;
  }

  async start(run: AgentRunRequest, signal: AbortSignal): Promise<AgentRun> {
    signal.throwIfAborted();
    const { refusal } = this;
    this.refusal = null;
    if (refusal !== null) throw refusal;
    this.started.push(run);
    this.#change(run.workspace, 1);
    return { events: this.#events(run, signal), steer: async () => false };
  }

  async *#events(run: AgentRunRequest, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    try {
      yield* this.#script(run, signal);
    } finally {
      this.#change(run.workspace, -1);
    }
  }

  free(workspace: Workspace): number {
    return workspace.runs - (this.#active.get(workspace.label) ?? 0);
  }

  whenFree(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** As if another run took a place, or left it. */
  occupy(workspace: Workspace, by: 1 | -1): void {
    this.#change(workspace, by);
  }

  #change(workspace: Workspace | null, by: number): void {
    const label = workspace?.label ?? '';
    this.#active.set(label, (this.#active.get(label) ?? 0) + by);
    if (by < 0) for (const listener of this.#listeners) listener();
  }
}

export const ACCEPTED: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };

export const ended = (different: Partial<TurnEnded> = {}): TurnEnded => ({
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: {
    inputTokens: 8,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 2,
    reasoningTokens: 0,
    totalTokens: 10,
  },
  at: 1,
  ...different,
});

export const said = (id: string, text: string): readonly TurnEvent[] => [
  {
    type: 'item-started',
    item: { kind: 'message', id, role: 'assistant', parts: [], phase: 'final_answer' },
  },
  { type: 'item-delta', itemId: id, at: 'text', delta: text },
  {
    type: 'item-ended',
    item: {
      kind: 'message',
      id,
      role: 'assistant',
      parts: [{ kind: 'text', text }],
      phase: 'final_answer',
      status: 'completed',
    },
  },
];

export interface ScriptedCall {
  readonly callId: string;
  readonly name: CodexTool;
  /** As the model writes it. */
  readonly input: string;
  readonly output: string;
  /** Live output, in pieces. */
  readonly live?: readonly string[];
  readonly requestId?: string;
}

const shownArguments = (name: CodexTool, input: string): string =>
  name === 'apply_patch' ? JSON.stringify({ patch: input }) : input;

/** The events of a call, as the port of runs describes them. */
export const called = (
  label: string,
  { callId, name, input, output, live = [], requestId }: ScriptedCall,
): readonly TurnEvent[] => {
  const id = `mcp_${callId}`;
  const head: RawItem = {
    type: 'mcp_call',
    status: 'in_progress',
    server_label: label,
    name,
    arguments: '',
    output: null,
    error: null,
    approval_request_id: requestId ?? null,
  };
  const given = shownArguments(name, input);
  const half = Math.ceil(given.length / 2);
  return [
    { type: 'item-started', item: { kind: 'hosted-call', id, modelCallId: callId, raw: head } },
    { type: 'item-status', itemId: id, status: 'in_progress' },
    { type: 'item-delta', itemId: id, at: 'input', delta: given.slice(0, half) },
    { type: 'item-delta', itemId: id, at: 'input', delta: given.slice(half) },
    { type: 'item-status', itemId: id, of: 'mcp_call_arguments', status: 'done', more: { arguments: given } },
    ...live.map((delta): TurnEvent => ({
      type: 'item-status',
      itemId: id,
      status: 'in_progress',
      more: { output_delta: delta },
    })),
    { type: 'item-status', itemId: id, status: 'completed' },
    {
      type: 'item-ended',
      item: {
        kind: 'hosted-call',
        id,
        modelCallId: callId,
        raw: { ...head, status: 'completed', arguments: given, output },
        status: 'completed',
      },
    },
  ];
};

/** A call that waits for its approval. */
export const waiting = (
  label: string,
  { callId, name, input }: Pick<ScriptedCall, 'callId' | 'name' | 'input'>,
): readonly TurnEvent[] => {
  const item = {
    kind: 'opaque',
    id: `mcpr_${callId}`,
    raw: {
      type: 'mcp_approval_request',
      server_label: label,
      name,
      arguments: shownArguments(name, input),
    },
  } as const;
  return [
    { type: 'item-started', item },
    { type: 'item-ended', item },
  ];
};
