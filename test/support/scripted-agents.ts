import type { AgentEvent, AgentRun, AgentRunRequest, AgentRuns } from '../../src/features/agents/run/port.ts';
import type { Outcome } from '../../src/canonical/events/turn-event.ts';
import type { HostedCall, Message, Produced, ToolCall } from '../../src/canonical/request/item.ts';
import type { Usage } from '../../src/canonical/events/usage.ts';
import { unlessAborted } from '../../src/kit/async/wait.ts';
import { gatewayError, type GatewayError } from '../../src/canonical/failure/failure.ts';

/** What an agent does in one run, as a test says it. */
export type AgentStep =
  | { readonly say: string; readonly phase?: 'commentary' | 'final_answer' }
  | { readonly think: string }
  | {
      readonly command: string;
      readonly callId: string;
      readonly output?: string;
      readonly exitCode?: number;
      /** The command runs until this, or until the run is stopped. */
      readonly until?: Promise<unknown>;
      /** What it says live. */
      readonly live?: readonly string[];
    }
  | { readonly patch: string; readonly callId: string; readonly refused?: string }
  | { readonly call: string; readonly callId: string; readonly given?: unknown }
  | { readonly plan: string; readonly callId: string }
  | { readonly search: string; readonly id: string }
  | { readonly wait: Promise<unknown> }
  /** Waits until a message was added to the run. */
  | { readonly steer: true }
  | { readonly ends: Outcome };

export type AgentScript = (request: AgentRunRequest, run: number) => readonly AgentStep[];

const USED: Usage = {
  inputTokens: 10,
  cachedInputTokens: 2,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 1,
  totalTokens: 15,
};

const STOPPED = Symbol('stopped');

/** Runs that follow a script. They need no codex. */
export class ScriptedAgents implements AgentRuns {
  readonly requests: AgentRunRequest[] = [];
  /** Commands that run now. */
  readonly commands = new Set<string>();
  /** Messages that were added to runs. */
  readonly steered: Message[] = [];
  /** What the client of the test sees of it being too late for messages. */
  takesSteering = true;
  /** Why a run cannot start; null: it can. */
  refuse: (() => GatewayError | null) | null = null;
  /** Runs begin after this. */
  begins: Promise<unknown> = Promise.resolve();
  running = 0;
  mostRunning = 0;
  script: AgentScript;
  readonly #inside = new Map<string, number>();
  readonly #listeners = new Set<() => void>();

  constructor(script: AgentScript = () => [{ say: 'done' }]) {
    this.script = script;
  }

  free({ label, runs }: Parameters<AgentRuns['free']>[0]): number {
    return runs - (this.#inside.get(label) ?? 0);
  }

  whenFree(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async start(request: AgentRunRequest, signal: AbortSignal): Promise<AgentRun> {
    signal.throwIfAborted();
    this.requests.push(request);
    await unlessAborted(this.begins, signal);
    const refusal = this.refuse?.() ?? null;
    if (refusal !== null) throw refusal;
    const steps = this.script(request, this.requests.length);
    const label = request.workspace?.label ?? '';
    if (request.workspace !== null && this.free(request.workspace) <= 0)
      throw gatewayError('server_overloaded');
    this.#inside.set(label, (this.#inside.get(label) ?? 0) + 1);
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    const messages: Message[] = [];
    let added = Promise.withResolvers<void>();
    let isOver = false;
    const stopped = new Promise<typeof STOPPED>((resolve) => {
      signal.addEventListener('abort', () => resolve(STOPPED), { once: true });
    });
    const take = async (): Promise<Message | typeof STOPPED> => {
      for (;;) {
        const message = messages.shift();
        if (message !== undefined) return message;
        added = Promise.withResolvers();
        if ((await Promise.race([added.promise, stopped])) === STOPPED) return STOPPED;
      }
    };
    const leave = (): void => {
      isOver = true;
      this.running -= 1;
      this.#inside.set(label, (this.#inside.get(label) ?? 1) - 1);
      for (const listener of this.#listeners) listener();
    };
    const { commands } = this;
    async function* events(): AsyncGenerator<AgentEvent> {
      try {
        yield { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
        let outcome: Outcome = { kind: 'completed' };
        const approved = request.approved.map(({ call, requestId }) => ({ call, requestId }));
        for (const { call, requestId } of approved) yield* runCall(call, requestId);
        for (const [index, step] of steps.entries()) {
          if (signal.aborted) break;
          if ('ends' in step) {
            outcome = step.ends;
            break;
          }
          if ('wait' in step) await Promise.race([step.wait, stopped]);
          else if ('steer' in step) {
            const message = await take();
            if (message === STOPPED) break;
            yield { type: 'steered', message };
          } else if ('command' in step) {
            const input = JSON.stringify({ cmd: step.command });
            const call: ToolCall = {
              kind: 'tool-call',
              tool: 'function',
              callId: step.callId,
              name: 'exec_command',
              input,
            };
            if (request.needsApproval('exec_command')) yield* asked(call);
            else yield* runCommand(step, null);
          } else if ('patch' in step) yield* runPatch(step);
          else if ('plan' in step) {
            const input = JSON.stringify({ plan: [{ step: step.plan, status: 'pending' }] });
            yield* hosted(step.callId, 'update_plan', input, 'Plan updated', []);
          } else if ('call' in step) {
            const item: Produced<ToolCall> = {
              kind: 'tool-call',
              id: `fc_${step.callId}`,
              tool: 'function',
              callId: step.callId,
              name: step.call,
              input: '',
            };
            const input = typeof step.given === 'string' ? step.given : JSON.stringify(step.given ?? {});
            yield { type: 'item-started', item };
            yield { type: 'item-delta', itemId: item.id, at: 'input', delta: input };
            yield { type: 'item-ended', item: { ...item, input, status: 'completed' } };
            outcome = { kind: 'tool-calls' };
          } else yield* said(step, index);
        }
        yield { type: 'turn-ended', outcome, usage: USED, at: Date.now() };
      } finally {
        leave();
      }
    }
    async function* runCall(call: ToolCall, requestId: string): AsyncGenerator<AgentEvent> {
      const given = JSON.parse(call.tool === 'custom' ? '{}' : call.input) as { readonly cmd?: string };
      if (call.name === 'exec_command') {
        yield* runCommand({ command: given.cmd ?? '', callId: call.callId, output: 'approved\n' }, requestId);
      } else yield* runPatch({ patch: call.input, callId: call.callId });
    }
    async function* runCommand(
      step: Extract<AgentStep, { command: string }>,
      requestId: string | null,
    ): AsyncGenerator<AgentEvent> {
      const input = JSON.stringify({ cmd: step.command });
      const item = hostedItem(step.callId, 'exec_command', requestId);
      yield { type: 'item-started', item };
      yield { type: 'item-delta', itemId: item.id, at: 'input', delta: input };
      commands.add(step.callId);
      const shown = `/bin/bash -lc '${step.command}'`;
      const cwd = request.workspace?.path ?? '/';
      yield {
        type: 'tool-progress',
        itemId: item.id,
        progress: { kind: 'command-started', command: shown, cwd },
      };
      for (const output_delta of step.live ?? []) {
        yield { type: 'item-status', itemId: item.id, status: 'in_progress', more: { output_delta } };
      }
      const ended = step.until === undefined ? null : await Promise.race([step.until, stopped]);
      commands.delete(step.callId);
      if (ended === STOPPED) {
        yield {
          type: 'tool-progress',
          itemId: item.id,
          progress: { kind: 'command-ended', status: 'failed', output: '', exitCode: -1, durationMs: 12 },
        };
        yield {
          type: 'item-ended',
          item: { ...item, status: 'incomplete', raw: { ...item.raw, arguments: input } },
        };
        return;
      }
      const { output = '', exitCode = 0 } = step;
      yield {
        type: 'tool-progress',
        itemId: item.id,
        progress: {
          kind: 'command-ended',
          status: exitCode === 0 ? 'completed' : 'failed',
          output,
          exitCode,
          durationMs: 12,
        },
      };
      yield {
        type: 'item-ended',
        item: {
          ...item,
          status: 'completed',
          raw: { ...item.raw, arguments: input, output: `Output:\n${output}` },
        },
      };
    }
    async function* runPatch(step: Extract<AgentStep, { patch: string }>): AsyncGenerator<AgentEvent> {
      const input = JSON.stringify({ patch: step.patch });
      const changes = [{ path: 'a.txt', change: 'add', movePath: null, diff: 'hello\n' }] as const;
      const item = hostedItem(step.callId, 'apply_patch', null);
      const isRun = step.refused === undefined;
      const progress = (kind: 'patch-started' | 'patch-ended'): AgentEvent => ({
        type: 'tool-progress',
        itemId: item.id,
        progress: { kind, changes, error: null },
      });
      yield { type: 'item-started', item };
      yield { type: 'item-delta', itemId: item.id, at: 'input', delta: input };
      if (isRun) {
        yield progress('patch-started');
        yield progress('patch-ended');
      }
      const output = step.refused ?? 'Success. Updated the following files:\nA a.txt\n';
      yield {
        type: 'item-ended',
        item: { ...item, status: 'completed', raw: { ...item.raw, arguments: input, output } },
      };
    }
    return {
      events: events(),
      steer: async (message) => {
        if (isOver || !this.takesSteering || signal.aborted) return false;
        this.steered.push(message);
        messages.push(message);
        added.resolve();
        return true;
      },
    };
  }
}

const hostedItem = (callId: string, name: string, approval: string | null): Produced<HostedCall> => ({
  kind: 'hosted-call',
  id: `mcp_${callId}`,
  modelCallId: callId,
  raw: {
    type: 'mcp_call',
    server_label: 'demo',
    name,
    arguments: '',
    output: null,
    error: null,
    approval_request_id: approval,
  },
});

async function* hosted(
  callId: string,
  name: string,
  input: string,
  output: string,
  between: readonly AgentEvent[],
): AsyncGenerator<AgentEvent> {
  const item = hostedItem(callId, name, null);
  yield { type: 'item-started', item };
  yield { type: 'item-delta', itemId: item.id, at: 'input', delta: input };
  yield* between;
  yield {
    type: 'item-ended',
    item: { ...item, status: 'completed', raw: { ...item.raw, arguments: input, output } },
  };
}

async function* asked({ callId, name, input }: ToolCall): AsyncGenerator<AgentEvent> {
  const item: Produced = {
    kind: 'opaque',
    id: `mcpr_${callId}`,
    raw: { type: 'mcp_approval_request', server_label: 'demo', name, arguments: input },
  };
  yield { type: 'item-started', item };
  yield { type: 'item-ended', item };
}

async function* said(
  step: Extract<AgentStep, { say: string } | { think: string } | { search: string }>,
  index: number,
): AsyncGenerator<AgentEvent> {
  if ('say' in step) {
    const item: Produced = {
      kind: 'message',
      id: `msg_${index}`,
      role: 'assistant',
      parts: [],
      ...(step.phase === undefined ? {} : { phase: step.phase }),
    };
    const half = Math.ceil(step.say.length / 2);
    yield { type: 'item-started', item };
    yield { type: 'item-delta', itemId: item.id, at: 'text', delta: step.say.slice(0, half) };
    yield { type: 'item-delta', itemId: item.id, at: 'text', delta: step.say.slice(half) };
    yield {
      type: 'item-ended',
      item: { ...item, parts: [{ kind: 'text', text: step.say }], status: 'completed' },
    };
  } else if ('think' in step) {
    const item: Produced = { kind: 'reasoning', id: `rs_${index}`, summary: [] };
    yield { type: 'item-started', item };
    yield { type: 'item-delta', itemId: item.id, at: { list: 'summary', index: 0 }, delta: step.think };
    yield {
      type: 'item-ended',
      item: { ...item, summary: [step.think], encryptedContent: 'sealed', status: 'completed' },
    };
  } else {
    const item: Produced = { kind: 'hosted-call', id: step.id, raw: { type: 'web_search_call' } };
    yield { type: 'item-started', item };
    const action = { type: 'search', query: step.search };
    yield {
      type: 'item-ended',
      item: { ...item, raw: { ...item.raw, action, status: 'completed' }, status: 'completed' },
    };
  }
}
