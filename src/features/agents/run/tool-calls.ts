import path from 'node:path';

import type { OpenSpan, Trace } from '../../../canonical/context/trace.ts';
import type { HostedCall, Opaque, Produced, ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import type { ItemCompletedNotification } from '../../../codex/protocol/generated/v2/ItemCompletedNotification.ts';
import { approvalRequest, mcpCallHead } from '../../../codex/sources/mcp-calls.ts';
import { toResponseItem } from '../../../codex/translate/inject-items.ts';
import type { IdSource } from '../../../kit/ambient.ts';
import { within } from '../../../kit/async/wait.ts';
import { parseJsonObject, textIn, type JsonObject } from '../../../kit/json/json.ts';
import { LiveOutput, MAX_LIVE_BYTES } from './live-output.ts';
import { readCommandOutput, type CommandOutput } from './command-output.ts';
import {
  CODEX_TOOLS,
  type AgentEvent,
  type CodexTool,
  type CommandEnded,
  type FileChange,
  type ToolProgress,
} from './port.ts';

type CodexItem = ItemCompletedNotification['item'];
type CommandItem = Extract<CodexItem, { type: 'commandExecution' }>;
type PatchItem = Extract<CodexItem, { type: 'fileChange' }>;

/** codex reports the end of a call a moment before or after its output. */
const REPORT_MS = 500;

const PATCH = 'apply_patch';
const POLL = 'write_stdin';

/** codex lets so many programs of a thread run at the same time. */
const MAX_CONTINUING = 64;

/** The label of the calls of a run without a workspace. */
export const NO_LABEL = 'codex';

export interface RunCallsOptions {
  readonly label: string;
  /** The folder of the workspace; null: there is none. */
  readonly folder: string | null;
  readonly emit: (event: AgentEvent) => void;
  /** Whether there is room for live output. */
  readonly hasRoom: () => boolean;
  readonly ids: IdSource;
  readonly trace: Trace;
}

interface OpenCall {
  readonly call: ToolCall;
  readonly head: Produced<HostedCall>;
  readonly span: OpenSpan;
  /** The arguments as clients see them. */
  readonly shown: ShownArguments;
  isReady: boolean;
  progress: 'none' | 'started' | 'ended';
  readonly reported: PromiseWithResolvers<void>;
}

/** A command that goes on after its call has ended. */
interface ContinuingCommand {
  readonly itemId: string;
  /** Its name in calls of `write_stdin`. */
  readonly session: number;
  /** What the model has heard of it. */
  heard: string;
  readonly reported: PromiseWithResolvers<void>;
}

interface CallEnd {
  readonly status: 'completed' | 'failed';
  readonly output: string | null;
  readonly error: JsonObject | null;
}

/** codex's tool that a call means; null: it is another tool. */
export const codexToolOf = ({ name, namespace, tool }: ToolCall): CodexTool | null => {
  if (namespace !== undefined) return null;
  const known = CODEX_TOOLS.find((one) => one === name);
  // The backend may have no custom tools.
  return known !== undefined && (tool === 'function' || known === PATCH) ? known : null;
};

/** The calls of codex's tools in a run, as clients see them. */
export class RunCalls {
  readonly #options: RunCallsOptions;
  readonly #open = new Map<string, OpenCall>();
  readonly #usedIds = new Set<string>();
  /** By the ids of their calls. */
  readonly #continuing = new Map<string, ContinuingCommand>();
  readonly #live: LiveOutput;

  constructor(options: RunCallsOptions) {
    this.#options = options;
    this.#live = new LiveOutput({
      hasRoom: options.hasRoom,
      send: (callId, text) => this.#sendLive(callId, text),
    });
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** The arguments of a call that runs; null: there is no such call. */
  argumentsOf(callId: string): string | null {
    return this.#open.get(callId)?.call.input ?? null;
  }

  /** The model begins a call. `requestId`: the approval request that was approved. */
  begin(call: ToolCall, requestId: string | null): void {
    const { label, emit, trace } = this.#options;
    const bare = mcpCallHead({ label, name: call.name, needsApproval: false }, call.callId);
    const head = {
      ...bare,
      id: this.#freshId(bare.id),
      raw: { ...bare.raw, approval_request_id: requestId },
    };
    this.#open.set(call.callId, {
      call,
      head,
      span: trace.begin('tool', { server: label, tool: call.name }),
      shown: call.tool === 'custom' ? new PatchArguments() : new PlainArguments(),
      isReady: false,
      progress: 'none',
      reported: Promise.withResolvers<void>(),
    });
    emit({ type: 'item-started', item: head });
    emit({ type: 'item-status', itemId: head.id, status: 'in_progress' });
  }

  /** The model writes more of the arguments. */
  write(callId: string, delta: string): void {
    const open = this.#open.get(callId);
    if (open === undefined) return;
    this.#sendArguments(open, open.shown.add(delta));
  }

  /** The arguments are complete. */
  ready(call: ToolCall): void {
    const open = this.#open.get(call.callId);
    if (open === undefined) return;
    this.#open.set(call.callId, { ...open, call });
    this.#finishArguments(this.#open.get(call.callId) ?? open);
  }

  /** codex has begun to run something. */
  itemStarted(item: CodexItem): void {
    const open = this.#open.get(item.id);
    if (open === undefined || open.progress !== 'none') return;
    if (item.type === 'commandExecution') {
      open.progress = 'started';
      this.#report(open, { kind: 'command-started', command: item.command, cwd: item.cwd });
    } else if (item.type === 'fileChange') {
      open.progress = 'started';
      this.#report(open, { kind: 'patch-started', changes: this.#changesOf(item), error: null });
    }
  }

  outputDelta(callId: string, text: string): void {
    const poll = this.#pollOf(callId);
    if (poll !== null) this.#live.add(poll, text);
    if (this.#open.has(callId) || this.#continuing.has(callId)) this.#live.add(callId, text);
  }

  /** The open call that waits for the output of a program which an earlier call has started. */
  #pollOf(callId: string): string | null {
    const command = this.#continuing.get(callId);
    if (command === undefined) return null;
    const poll = [...this.#open.values()].find(
      ({ call, isReady }) => isReady && polledBy(call) === command.session,
    );
    return poll?.call.callId ?? null;
  }

  itemCompleted(item: CodexItem): void {
    if (item.type === 'commandExecution' && this.#continuing.has(item.id)) {
      this.#continuingEnded(item.id, endOf(item));
      return;
    }
    const open = this.#open.get(item.id);
    if (open === undefined || open.progress === 'ended') return;
    if (item.type !== 'commandExecution' && item.type !== 'fileChange') return;
    this.itemStarted(item);
    if (item.type === 'commandExecution') this.#commandEnded(open, item);
    else this.#patchEnded(open, item);
  }

  /** Waits a moment for codex's own reports of calls that have ended. */
  async reported(outputs: readonly ToolOutput[]): Promise<void> {
    const late = outputs.flatMap(({ callId, output }) => {
      const open = this.#open.get(callId ?? '');
      const heard = typeof output === 'string' ? readCommandOutput(output) : null;
      if (open === undefined || (heard !== null && heard.session !== null)) return [];
      if (open.progress === 'started') return [open.reported.promise];
      const polled = heard === null ? undefined : this.#continuingOf(open.call)?.[1];
      return polled === undefined ? [] : [polled.reported.promise];
    });
    if (late.length > 0) await within(Promise.all(late), REPORT_MS);
  }

  /** The model hears the output of a call. */
  end(output: ToolOutput): void {
    const open = this.#open.get(output.callId ?? '');
    if (open === undefined) return;
    const { call } = open;
    const text = outputText(output);
    const heard = readCommandOutput(text);
    if (call.name === 'exec_command' && heard !== null) this.#completeReport(open, heard);
    else if (heard !== null) this.#polled(call, heard);
    if (heard === null || !this.#continues(open, heard)) this.#live.end(call.callId, null);
    open.span.end({ status: 'completed', exitCode: heard?.exitCode ?? null });
    this.#close(open, { status: 'completed', output: text, error: null });
  }

  /** Ends all calls that are open: they get no output any more. Returns them. */
  failAll(message: string): readonly ToolCall[] {
    const calls = [...this.#open.values()].map(({ call }) => call);
    for (const { callId } of calls) this.fail(callId, message);
    return calls;
  }

  /** Ends a call that gets no output. */
  fail(callId: string, message: string): void {
    const open = this.#open.get(callId);
    if (open === undefined) return;
    this.#finishArguments(open);
    this.#live.end(callId, null);
    open.span.end({ status: 'failed' });
    const error = { type: 'mcp_protocol_error', code: -32_603, message };
    this.#close(open, { status: 'failed', output: null, error });
  }

  /** Nothing is shown any more. */
  stop(): void {
    for (const callId of this.#continuing.keys()) this.#live.flush(callId);
    this.#continuing.clear();
    this.#live.stop();
  }

  /** Shows a call that waits for approval. */
  ask(call: ToolCall): void {
    const { label, emit } = this.#options;
    const shown = call.tool === 'custom' ? new PatchArguments() : new PlainArguments();
    const input = shown.add(call.input) + shown.end();
    const asked: Opaque = approvalRequest(
      { label, name: call.name, needsApproval: true },
      { ...call, input },
    );
    const item = { ...asked, id: asked.id ?? this.#options.ids.mint('mcpr') };
    emit({ type: 'item-started', item });
    emit({ type: 'item-ended', item });
  }

  #close({ call, head, shown }: OpenCall, end: CallEnd): void {
    const { emit } = this.#options;
    this.#open.delete(call.callId);
    emit({ type: 'item-status', itemId: head.id, status: end.status });
    emit({
      type: 'item-ended',
      item: { ...head, raw: { ...head.raw, ...end, arguments: shown.text }, status: 'completed' },
    });
  }

  #sendArguments(open: OpenCall, delta: string): void {
    if (delta === '') return;
    this.#options.emit({ type: 'item-delta', itemId: open.head.id, at: 'input', delta });
  }

  #finishArguments(open: OpenCall): void {
    if (open.isReady) return;
    open.isReady = true;
    this.#sendArguments(open, open.shown.end());
    this.#options.emit({
      type: 'item-status',
      itemId: open.head.id,
      of: 'mcp_call_arguments',
      status: 'done',
      more: { arguments: open.shown.text },
    });
  }

  #sendLive(callId: string, text: string): void {
    const { emit } = this.#options;
    const open = this.#open.get(callId);
    const command = this.#continuing.get(callId);
    if (open !== undefined)
      emit({
        type: 'item-status',
        itemId: open.head.id,
        status: 'in_progress',
        more: { output_delta: text },
      });
    else if (command !== undefined)
      emit({
        type: 'tool-progress',
        itemId: command.itemId,
        progress: { kind: 'command-output', delta: text },
      });
  }

  #report(open: OpenCall, progress: ToolProgress['progress']): void {
    this.#options.emit({ type: 'tool-progress', itemId: open.head.id, progress });
  }

  #commandEnded(open: OpenCall, item: CommandItem): void {
    open.progress = 'ended';
    this.#live.end(open.call.callId, item.aggregatedOutput);
    this.#report(open, endOf(item));
    open.reported.resolve();
  }

  /** Whether the program of a call that ends now goes on. */
  #continues(
    { call: { callId, name }, head, progress }: OpenCall,
    { session, output }: CommandOutput,
  ): boolean {
    const isRunning = name === 'exec_command' && session !== null && progress !== 'ended';
    if (!isRunning || this.#continuing.size >= MAX_CONTINUING) return false;
    this.#live.flush(callId);
    this.#continuing.set(callId, {
      itemId: head.id,
      session,
      heard: output,
      reported: Promise.withResolvers<void>(),
    });
    this.#options.emit({ type: 'tool-progress', itemId: head.id, progress: { kind: 'command-continues' } });
    return true;
  }

  /** The command that goes on and that a call of `write_stdin` is for. */
  #continuingOf(call: ToolCall): readonly [string, ContinuingCommand] | undefined {
    const session = polledBy(call);
    return session === null ? undefined : [...this.#continuing].find(([, one]) => one.session === session);
  }

  /** The model hears more of a command that goes on. */
  #polled(call: ToolCall, { output, session, exitCode }: CommandOutput): void {
    const found = this.#continuingOf(call);
    if (found === undefined) return;
    const [callId, command] = found;
    command.heard = (command.heard + output).slice(0, MAX_LIVE_BYTES);
    if (session !== null) return;
    // codex has not reported the end.
    this.#continuingEnded(callId, {
      kind: 'command-ended',
      status: exitCode === 0 ? 'completed' : 'failed',
      output: command.heard.toWellFormed(),
      exitCode,
      durationMs: null,
    });
  }

  #continuingEnded(callId: string, end: CommandEnded): void {
    const command = this.#continuing.get(callId);
    if (command === undefined) return;
    this.#live.end(callId, end.output);
    this.#continuing.delete(callId);
    this.#options.emit({ type: 'tool-progress', itemId: command.itemId, progress: end });
    command.reported.resolve();
  }

  #patchEnded(open: OpenCall, item: PatchItem): void {
    open.progress = 'ended';
    const error = item.status === 'completed' ? null : 'The patch was not applied.';
    this.#report(open, { kind: 'patch-ended', changes: this.#changesOf(item), error });
    open.reported.resolve();
  }

  /** codex loses its own reports of commands that end at once: what the model hears tells the same. */
  #completeReport(open: OpenCall, heard: CommandOutput): void {
    if (open.progress === 'ended') return;
    if (open.progress === 'none') {
      open.progress = 'started';
      this.#report(open, { kind: 'command-started', ...this.#commandOf(open.call) });
    }
    if (heard.session !== null) return;
    open.progress = 'ended';
    this.#live.end(open.call.callId, heard.output);
    this.#report(open, {
      kind: 'command-ended',
      status: heard.exitCode === 0 ? 'completed' : 'failed',
      output: heard.output,
      exitCode: heard.exitCode,
      durationMs: heard.durationMs,
    });
  }

  #commandOf({ input }: ToolCall): { readonly command: string; readonly cwd: string } {
    const given = parseJsonObject(input) ?? {};
    return {
      command: `/bin/bash ${given['login'] === false ? '-c' : '-lc'} ${quotedForShell(textIn(given, 'cmd'))}`,
      cwd: path.resolve(this.#options.folder ?? '/', textIn(given, 'workdir')),
    };
  }

  #changesOf({ changes }: PatchItem): readonly FileChange[] {
    const { folder } = this.#options;
    const shown = (file: string): string => {
      if (folder === null) return file;
      const relative = path.relative(folder, path.resolve(folder, file));
      return relative.startsWith('..') ? file : relative;
    };
    return changes.map(({ path: file, kind, diff }) => ({
      path: shown(file),
      change: kind.type,
      movePath: kind.type === 'update' && kind.move_path !== null ? shown(kind.move_path) : null,
      diff,
    }));
  }

  #freshId(given: string | undefined): string {
    const isFree = given !== undefined && !this.#usedIds.has(given);
    const id = isFree ? given : this.#options.ids.mint('mcp');
    this.#usedIds.add(id);
    return id;
  }
}

/** The program that a call of `write_stdin` names; null: it is another call, or names none. */
const polledBy = ({ name, input }: ToolCall): number | null => {
  const session = name === POLL ? parseJsonObject(input)?.['session_id'] : null;
  return typeof session === 'number' ? session : null;
};

const endOf = ({ status, aggregatedOutput, exitCode, durationMs }: CommandItem): CommandEnded => ({
  kind: 'command-ended',
  status: status === 'completed' ? 'completed' : 'failed',
  output: (aggregatedOutput ?? '').slice(0, MAX_LIVE_BYTES).toWellFormed(),
  exitCode,
  durationMs,
});

/** What the model hears, as one text. */
const outputText = (output: ToolOutput): string =>
  typeof output.output === 'string' ? output.output : JSON.stringify(toResponseItem(output)['output']);

/** As codex writes the arguments of a command. */
const quotedForShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

interface ShownArguments {
  /** All of it so far. */
  readonly text: string;
  /** What clients see of this piece. */
  add(delta: string): string;
  /** What is left when nothing follows. */
  end(): string;
}

class PlainArguments implements ShownArguments {
  text = '';

  add(delta: string): string {
    this.text += delta;
    return delta;
  }

  end(): string {
    return '';
  }
}

/** A patch is free text; clients see it as a member of a JSON object. */
class PatchArguments implements ShownArguments {
  text = '';
  /** The first half of a character, until the second comes. */
  #half = '';
  #isOver = false;

  add(delta: string): string {
    const whole = this.#half + delta;
    this.#half = /[\ud800-\udbff]$/.test(whole) ? whole.slice(-1) : '';
    return this.#write(whole.slice(0, whole.length - this.#half.length));
  }

  end(): string {
    if (this.#isOver) return '';
    const rest = `${this.#write(this.#half)}"}`;
    this.#isOver = true;
    this.text += '"}';
    return rest;
  }

  #write(piece: string): string {
    const head = this.text === '' ? '{"patch":"' : '';
    const written = head + JSON.stringify(piece).slice(1, -1);
    this.text += written;
    return written;
  }
}
