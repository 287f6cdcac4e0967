import type { ItemDelta, ItemStatusChanged } from '../../../canonical/events/turn-event.ts';
import type { HostedCall, Item, Produced, ToolCall } from '../../../canonical/request/item.ts';
import { parseJsonObject, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { CommandEnded, FileChange, ToolProgress } from '../run/port.ts';
import type { SessionItemRow } from '../store/port.ts';
import type { SessionCommand, SessionMcpCall } from './objects.ts';
import { OpenItem, type Slot } from './open-items.ts';
import { ABORTED, outputOf } from './session-draft.ts';

/** Live output of one command that is shown. */
const MAX_OUTPUT_CHARS = 1024 * 1024;

/** A call of a tool of codex. */
abstract class OpenCall extends OpenItem {
  readonly #started: HostedCall;
  readonly #approval: SessionItemRow | null;
  #input = '';

  constructor(slot: Slot, started: HostedCall, approval: SessionItemRow | null) {
    super(slot);
    this.#started = started;
    this.#approval = approval;
  }

  override delta({ at, delta }: ItemDelta): void {
    if (at === 'input') this.#input += delta;
  }

  /** What the model gets if the call has no end. */
  protected unended(): readonly Item[] | null {
    const given = this.#input === '' ? textIn(this.#started.raw, 'arguments') : this.#input;
    if (given === '') return null;
    const call = modelCall({ ...this.#started.raw, arguments: given }, callIdOf(this.#started));
    return [call, outputOf(call, ABORTED)];
  }

  /** What the model gets of the call. */
  protected rawOf(item: HostedCall): readonly Item[] {
    if (this.#approval !== null) this.slot.replace(this.#approval);
    const call = callOf(item);
    return [call, outputOf(call, heardOf(item) ?? ABORTED)];
  }
}

const planIn = (call: HostedCall): Json => parseJsonObject(textIn(call.raw, 'arguments'))?.['plan'] ?? null;

/** A call without an item. A plan that it makes is an event. */
export class HiddenCall extends OpenCall {
  done(item: Produced): void {
    const call = item as HostedCall;
    this.slot.row(null, this.rawOf(call));
    const plan = textIn(call.raw, 'name') === 'update_plan' ? planIn(call) : null;
    if (plan !== null) this.slot.note((of) => ({ type: 'codex.turn.plan.updated', ...of, plan }));
  }

  cut(): void {
    this.slot.row(null, this.unended());
  }
}

export class OpenCommand extends OpenCall {
  #command = '';
  #cwd: string | null = null;
  #isAdded = false;
  #shown = '';
  #waiting = '';
  #isWhole = true;
  #end: CommandEnded | null = null;
  #continues = false;
  /** What the model gets, if the call has ended and the command has not. */
  #heard: readonly Item[] | null = null;

  override get goesOn(): boolean {
    return this.#heard !== null;
  }

  override status({ more }: ItemStatusChanged): void {
    const delta = more?.['output_delta'];
    if (typeof delta === 'string' && delta !== '') this.#say(delta);
  }

  override progress(progress: ToolProgress['progress']): void {
    if (progress.kind === 'command-started') this.#begin(progress.command, progress.cwd);
    else if (progress.kind === 'command-continues') this.#continues = true;
    else if (progress.kind === 'command-output') this.#say(progress.delta);
    else if (progress.kind === 'command-ended') {
      this.#end = progress;
      if (this.#heard !== null) this.#finish(progress, this.#heard);
    }
  }

  done(item: Produced): void {
    const call = item as HostedCall;
    const given = parseJsonObject(textIn(call.raw, 'arguments')) ?? {};
    this.#begin(textIn(given, 'cmd'), folderOf(given, this.slot.folder));
    if (this.#continues && this.#end === null) {
      this.#heard = this.rawOf(call);
      this.slot.row(this.#item('in_progress', null), this.#heard);
      return;
    }
    const heard = heardOf(call);
    const failed = { status: 'failed', output: heard ?? '', exitCode: null, durationMs: null } as const;
    const unseen = heard === null ? { ...failed, output: this.#shown, exitCode: -1 } : failed;
    const ran = heard !== null && this.#shown !== '' ? { ...failed, status: 'completed' as const } : unseen;
    this.#finish(this.#end ?? ran, this.rawOf(call));
  }

  cut(): void {
    if (!this.#isAdded) return;
    const end = this.#end ?? { status: 'failed', output: this.#shown, exitCode: -1, durationMs: null };
    this.#finish(end, this.#heard ?? this.unended());
  }

  #begin(command: string, cwd: string | null): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.#command = command;
    this.#cwd = cwd;
    this.added(this.#item('in_progress', null), this.unended());
    const waiting = this.#waiting;
    this.#waiting = '';
    if (waiting !== '') this.#say(waiting);
  }

  #say(delta: string): void {
    if (!this.#isAdded) {
      this.#waiting += delta.slice(0, MAX_OUTPUT_CHARS - this.#waiting.length);
      return;
    }
    const room = MAX_OUTPUT_CHARS - this.#shown.length;
    if (delta.length > room) this.#isWhole = false;
    const said = delta.slice(0, room);
    if (said === '') return;
    this.#shown += said;
    this.slot.event((of, output_index) => ({
      type: 'agent.output.command_execution_output.delta',
      ...of,
      item_id: this.slot.id,
      output_index,
      delta: said,
    }));
  }

  #finish(end: Omit<CommandEnded, 'kind'>, raw: readonly Item[] | null): void {
    const { output } = end;
    this.#heard = null;
    if (this.#isWhole && output.length > this.#shown.length && output.startsWith(this.#shown)) {
      this.#say(output.slice(this.#shown.length));
    }
    this.ended(this.#item(end.status, end), raw);
    this.slot.onCommand(end.status, output.length);
  }

  #item(status: SessionCommand['status'], end: Omit<CommandEnded, 'kind'> | null): SessionCommand {
    return {
      id: this.slot.id,
      type: 'command_execution',
      turn_id: this.slot.turnId,
      command: this.#command,
      cwd: this.#cwd,
      status,
      output: end?.output ?? null,
      exit_code: end?.exitCode ?? null,
      duration_ms: end?.durationMs ?? null,
    };
  }
}

export class OpenPatch extends OpenCall {
  #changes: readonly FileChange[] = [];
  #isAdded = false;
  #error: string | null = null;
  #hasEnded = false;

  override progress(progress: ToolProgress['progress']): void {
    if (progress.kind !== 'patch-started' && progress.kind !== 'patch-ended') return;
    this.#begin(progress.changes);
    this.#changes = progress.changes.length > 0 ? progress.changes : this.#changes;
    if (progress.kind !== 'patch-ended') return;
    this.#hasEnded = true;
    this.#error = progress.error;
  }

  done(item: Produced): void {
    const call = item as HostedCall;
    const heard = heardOf(call);
    this.#begin(patchChanges(callOf(call).input));
    // A patch that was refused has no progress.
    if (!this.#hasEnded) this.#error = firstLine(heard ?? 'The patch was not applied.');
    this.ended(this.#item(this.#error === null ? 'completed' : 'failed'), this.rawOf(call));
  }

  cut(): void {
    if (!this.#isAdded) return;
    if (!this.#hasEnded) this.#error = 'The patch was not applied.';
    this.ended(this.#item(this.#error === null ? 'completed' : 'failed'), this.unended());
  }

  #begin(changes: readonly FileChange[]): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.#changes = changes;
    this.added(this.#item('in_progress'), this.unended());
  }

  #item(status: SessionMcpCall['status']): SessionMcpCall {
    return {
      id: this.slot.id,
      type: 'mcp_call',
      turn_id: this.slot.turnId,
      server_label: 'codex',
      name: 'apply_patch',
      arguments: {
        changes: this.#changes.map(({ path, change, movePath, diff }) => ({
          path,
          kind: change,
          move_path: movePath,
          diff,
        })),
      },
      output: null,
      error: status === 'in_progress' ? null : this.#error,
      status,
    };
  }
}

const MAX_LINE_CHARS = 500;

const firstLine = (text: string): string => {
  const line = text.split('\n').find((one) => one.trim() !== '') ?? text;
  return line.slice(0, MAX_LINE_CHARS).toWellFormed();
};

/** What ids of a run begin with. */
export const PREFIX = { call: 'mcp_', approval: 'mcpr_' } as const;

export const without = (prefix: string, id: string): string =>
  id.startsWith(prefix) ? id.slice(prefix.length) : id;

export const callIdOf = ({ id = '', modelCallId }: HostedCall): string =>
  modelCallId ?? without(PREFIX.call, id);

/** A call of a tool of codex as the model made it. */
const callOf = (item: HostedCall): ToolCall => modelCall(item.raw, callIdOf(item));

export const modelCall = (raw: JsonObject, callId: string): ToolCall => {
  const name = textIn(raw, 'name');
  const given = textIn(raw, 'arguments');
  if (name !== 'apply_patch') return { kind: 'tool-call', tool: 'function', callId, name, input: given };
  const patch = parseJsonObject(given)?.['patch'];
  return {
    kind: 'tool-call',
    tool: 'custom',
    callId,
    name,
    input: typeof patch === 'string' ? patch : given,
  };
};

/** What the model heard; null: nothing. */
const heardOf = ({ raw, status }: HostedCall): string | null => {
  const { output } = raw;
  return typeof output === 'string' && status !== 'incomplete' ? output : null;
};

/** The folder in which a command runs. */
export const folderOf = (given: JsonObject, folder: string | null): string | null => {
  const workdir = textIn(given, 'workdir');
  if (workdir === '' || folder === null) return workdir === '' ? folder : workdir;
  return workdir.startsWith('/') ? workdir : `${folder}/${workdir}`;
};

const HEADERS = [
  ['*** Add File: ', 'add'],
  ['*** Update File: ', 'update'],
  ['*** Delete File: ', 'delete'],
] as const;
const MOVE = '*** Move to: ';
/** More than any patch that is worth reading. */
const MAX_CHANGES = 1_000;

/** What a patch of codex would change, as far as it can be read: for a patch that was refused. */
const patchChanges = (patch: string): readonly FileChange[] => {
  const changes: { path: string; change: FileChange['change']; movePath: string | null; lines: string[] }[] =
    [];
  for (const line of patch.split('\n')) {
    const header = HEADERS.find(([words]) => line.startsWith(words));
    const last = changes.at(-1);
    if (header !== undefined) {
      if (changes.length >= MAX_CHANGES) break;
      const [words, change] = header;
      changes.push({ path: line.slice(words.length).trim(), change, movePath: null, lines: [] });
    } else if (last !== undefined && line.startsWith(MOVE)) last.movePath = line.slice(MOVE.length).trim();
    else if (last !== undefined && !line.startsWith('*** ')) last.lines.push(line);
  }
  return changes.map(({ lines, ...change }) => ({ ...change, diff: lines.join('\n') }));
};
