import type { ItemDelta, ItemStatusChanged, TurnEnded } from '../../../canonical/events/turn-event.ts';
import {
  wordsOf,
  type HostedCall,
  type Item,
  type Message,
  type Opaque,
  type Produced,
  type Reasoning,
  type ToolCall,
} from '../../../canonical/request/item.ts';
import { parseJsonObject, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { AgentEvent, CommandEnded, FileChange, ToolProgress } from '../run/port.ts';
import type { SessionItemRow } from '../store/port.ts';
import type { SessionCommand, SessionEvent, SessionItem, SessionMcpCall } from './objects.ts';
import { patchChanges } from './patch-changes.ts';
import { APPROVAL_FUNCTION } from './read-agent.ts';
import { ABORTED, outputOf, type AskedCall } from './session-draft.ts';

export interface StepPlace {
  readonly sessionId: string;
  readonly turnId: string;
  /** The `output_index` of the first item. */
  readonly nextIndex: number;
  readonly nextItem: number;
  /** Ids that items of the session have. */
  readonly usedIds: Set<string>;
  /** Where commands run; null: nowhere. */
  readonly folder: string | null;
  /** The rows of approvals that are used in this step, by the ids of their calls: what they show the model is replaced. */
  readonly approvals: ReadonlyMap<string, SessionItemRow>;
  readonly mintId: (prefix: string) => string;
  readonly onCommand: OnCommand;
}

/** What becomes of events of a run. */
export interface StepSink {
  event(event: SessionEvent): void;
  row(row: SessionItemRow): void;
}

/** A command has ended. */
export type OnCommand = (status: 'completed' | 'failed', outputChars: number) => void;

/** Live output of one command that is shown. */
const MAX_OUTPUT_CHARS = 1024 * 1024;

/** Turns the events of a run into items and events of a session. */
export class StepItems {
  readonly #place: StepPlace;
  readonly #sink: StepSink;
  readonly #open = new Map<string, OpenItem>();
  readonly #asked: AskedCall[] = [];
  #nextIndex: number;
  #nextItem: number;
  end: TurnEnded | null = null;

  constructor(place: StepPlace, sink: StepSink) {
    this.#place = place;
    this.#sink = sink;
    this.#nextIndex = place.nextIndex;
    this.#nextItem = place.nextItem;
  }

  get nextIndex(): number {
    return this.#nextIndex;
  }

  get nextItem(): number {
    return this.#nextItem;
  }

  /** Others have taken places before this one. */
  reserve(nextItem: number): void {
    this.#nextItem = Math.max(this.#nextItem, nextItem);
  }

  /** The calls that the client is asked for when the run has ended. */
  get asked(): readonly AskedCall[] {
    return this.#asked;
  }

  /** `steered` is not for items. */
  add(event: AgentEvent): void {
    switch (event.type) {
      case 'item-started':
        this.#start(event.item);
        return;
      case 'item-delta':
        this.#open.get(event.itemId)?.delta(event);
        return;
      case 'item-status':
        this.#open.get(event.itemId)?.status(event);
        return;
      case 'tool-progress':
        this.#open.get(event.itemId)?.progress(event.progress);
        return;
      case 'item-ended':
        this.#done(event.item);
        return;
      case 'turn-ended':
        this.end = event;
        return;
      default:
    }
  }

  /** The run is over: what is open ends. */
  close(): void {
    for (const open of this.#open.values()) open.cut();
    this.#open.clear();
  }

  #start(item: Produced): void {
    if (item.kind === 'tool-call' || isApproval(item)) return;
    const open = this.#openItem(item);
    this.#open.set(item.id, open);
    open.start();
  }

  #done(item: Produced): void {
    if (item.kind === 'tool-call') {
      if (item.status !== 'incomplete') this.#ask(functionAsked(item));
      return;
    }
    if (isApproval(item)) {
      this.#ask(approvalAsked(item, this.#place.folder));
      return;
    }
    const open = this.#open.get(item.id) ?? this.#openItem(item);
    this.#open.delete(item.id);
    open.done(item);
  }

  #ask(call: AskedCall): void {
    this.#asked.push({ ...call, itemId: this.#freshId(call.itemId, 'fc') });
  }

  /** Models may use an id again, and clients page by ids. */
  #freshId(wanted: string, prefix: string): string {
    const { usedIds, mintId } = this.#place;
    const id = wanted === '' || usedIds.has(wanted) ? mintId(prefix) : wanted;
    usedIds.add(id);
    return id;
  }

  #openItem(item: Produced): OpenItem {
    const slot = this.#slot(item);
    if (item.kind === 'message') return new OpenMessage(slot, item.phase ?? null);
    if (item.kind === 'reasoning') return new OpenReasoning(slot);
    if (item.kind !== 'hosted-call') return new HiddenItem(slot);
    const { type } = item.raw;
    if (type === 'web_search_call') return new OpenSearch(slot);
    if (type !== 'mcp_call') return new HiddenItem(slot);
    const approval = this.#place.approvals.get(callIdOf(item)) ?? null;
    const name = textIn(item.raw, 'name');
    if (name === 'exec_command') return new OpenCommand(slot, item, approval);
    return name === 'apply_patch'
      ? new OpenPatch(slot, item, approval)
      : new HiddenCall(slot, item, approval);
  }

  #slot(item: Produced): Slot {
    const { sessionId, turnId, folder, onCommand } = this.#place;
    const wanted = item.kind === 'hosted-call' && item.modelCallId !== undefined ? item.modelCallId : item.id;
    const id = this.#freshId(wanted, 'item');
    const pos = this.#nextItem;
    this.#nextItem += 1;
    let index: number | null = null;
    return {
      id,
      turnId,
      folder,
      onCommand,
      event: (make) => {
        if (index === null) {
          index = this.#nextIndex;
          this.#nextIndex += 1;
        }
        this.#sink.event(make({ session_id: sessionId, turn_id: turnId }, index));
      },
      row: (shown, raw) =>
        this.#sink.row({
          id,
          pos,
          turnId,
          body: shown === null ? null : JSON.stringify(shown),
          raw: raw === null ? null : JSON.stringify(raw),
        }),
      replace: (row) => this.#sink.row({ ...row, raw: null }),
    };
  }
}

/** The place of an item in its turn. */
interface Slot {
  readonly id: string;
  readonly turnId: string;
  readonly folder: string | null;
  readonly onCommand: OnCommand;
  /** Sends an event. The first one gives the item its index. */
  readonly event: (
    make: (of: { readonly session_id: string; readonly turn_id: string }, index: number) => SessionEvent,
  ) => void;
  readonly row: (shown: SessionItem | null, raw: readonly Item[] | null) => void;
  /** What an approval shows the model is replaced by the call. */
  readonly replace: (approval: SessionItemRow) => void;
}

abstract class OpenItem {
  protected readonly slot: Slot;

  constructor(slot: Slot) {
    this.slot = slot;
  }

  start(): void {}
  delta(_event: ItemDelta): void {}
  status(_event: ItemStatusChanged): void {}
  progress(_progress: ToolProgress['progress']): void {}
  abstract done(item: Produced): void;
  /** It has no end. */
  abstract cut(): void;

  protected added(item: SessionItem, raw: readonly Item[] | null = null): void {
    this.slot.row(item, raw);
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.item.added',
      ...of,
      output_index,
      item,
    }));
  }

  protected ended(item: SessionItem, raw: readonly Item[] | null): void {
    this.slot.row(item, raw);
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.item.done',
      ...of,
      output_index,
      item,
    }));
  }
}

/** What only the model gets. */
class HiddenItem extends OpenItem {
  done(item: Produced): void {
    this.slot.row(null, [item]);
  }

  cut(): void {}
}

class OpenMessage extends OpenItem {
  readonly #phase: 'commentary' | 'final_answer' | null;
  #text = '';
  #isAdded = false;
  #hasPart = false;

  constructor(slot: Slot, phase: 'commentary' | 'final_answer' | null) {
    super(slot);
    this.#phase = phase;
  }

  override start(): void {
    this.#add();
  }

  override delta({ at, delta }: ItemDelta): void {
    if ((at === 'text' || at === 'refusal') && delta !== '') this.#say(delta);
  }

  done(item: Produced): void {
    const message = item as Message;
    const text = wordsOf(message, 'text') + wordsOf(message, 'refusal');
    this.#add();
    if (text.length > this.#text.length && text.startsWith(this.#text))
      this.#say(text.slice(this.#text.length));
    this.#end(message.status === 'incomplete' ? 'incomplete' : 'completed', message);
  }

  cut(): void {
    if (this.#isAdded) this.#end('incomplete', null);
  }

  #add(): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.added(this.#item('in_progress'));
  }

  #say(delta: string): void {
    this.#add();
    this.#openPart();
    this.#text += delta;
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.output_text.delta',
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      delta,
    }));
  }

  #openPart(): void {
    if (this.#hasPart) return;
    this.#hasPart = true;
    this.#part('agent.session.turn.content_part.added', '');
  }

  #part(
    type: 'agent.session.turn.content_part.added' | 'agent.session.turn.content_part.done',
    text: string,
  ): void {
    this.slot.event((of, output_index) => ({
      type,
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      part: { type: 'output_text', text },
    }));
  }

  #end(status: 'completed' | 'incomplete', message: Message | null): void {
    const text = this.#text;
    this.#openPart();
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.output_text.done',
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      text,
    }));
    this.#part('agent.session.turn.content_part.done', text);
    this.ended(this.#item(status), message === null ? null : [message]);
  }

  #item(status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return {
      id: this.slot.id,
      type: 'message',
      role: 'assistant',
      turn_id: this.slot.turnId,
      phase: this.#phase,
      status,
      content: status === 'in_progress' ? [] : [{ type: 'output_text', text: this.#text }],
    };
  }
}

class OpenReasoning extends OpenItem {
  readonly #parts: string[] = [];

  override start(): void {
    this.added(this.#item('in_progress'));
  }

  override delta({ at, delta }: ItemDelta): void {
    // Raw reasoning is not shown.
    if (typeof at === 'string' || at.list !== 'summary') return;
    this.#reach(at.index);
    if (delta === '') return;
    this.#parts[at.index] += delta;
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.reasoning_summary_text.delta',
      ...of,
      item_id: this.slot.id,
      output_index,
      summary_index: at.index,
      delta,
    }));
  }

  done(item: Produced): void {
    const { summary, status } = item as Reasoning;
    for (const [index, text] of summary.entries()) {
      const said = this.#parts[index] ?? '';
      if (text.length > said.length && text.startsWith(said)) {
        this.delta({
          type: 'item-delta',
          itemId: item.id,
          at: { list: 'summary', index },
          delta: text.slice(said.length),
        });
      } else this.#reach(index);
    }
    this.#end(status === 'incomplete' ? 'incomplete' : 'completed', [item]);
  }

  cut(): void {
    this.#end('incomplete', null);
  }

  #reach(index: number): void {
    while (this.#parts.length <= index) {
      const summary_index = this.#parts.length;
      this.#parts.push('');
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_part.added',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        part: { type: 'summary_text', text: '' },
      }));
    }
  }

  #end(status: 'completed' | 'incomplete', raw: readonly Item[] | null): void {
    for (const [summary_index, text] of this.#parts.entries()) {
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_text.done',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        text,
      }));
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_part.done',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        part: { type: 'summary_text', text },
        status: status === 'incomplete' ? 'incomplete' : null,
      }));
    }
    this.ended(this.#item(status), raw);
  }

  #item(status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return {
      id: this.slot.id,
      type: 'reasoning',
      turn_id: this.slot.turnId,
      status,
      summary: status === 'in_progress' ? [] : this.#parts.map((text) => ({ type: 'summary_text', text })),
    };
  }
}

class OpenSearch extends OpenItem {
  override start(): void {
    this.added(this.#item(null, 'in_progress'));
  }

  done(item: Produced): void {
    const { raw, status } = item as HostedCall;
    this.ended(this.#item(raw['action'] ?? null, status === 'incomplete' ? 'incomplete' : 'completed'), [
      item,
    ]);
  }

  cut(): void {
    this.ended(this.#item(null, 'incomplete'), null);
  }

  #item(action: Json, status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return { id: this.slot.id, type: 'web_search_call', turn_id: this.slot.turnId, action, status };
  }
}

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

/** A call that clients do not see. */
class HiddenCall extends OpenCall {
  done(item: Produced): void {
    this.slot.row(null, this.rawOf(item as HostedCall));
  }

  cut(): void {
    this.slot.row(null, this.unended());
  }
}

class OpenCommand extends OpenCall {
  #command = '';
  #cwd: string | null = null;
  #isAdded = false;
  #shown = '';
  #waiting = '';
  #isWhole = true;
  #end: CommandEnded | null = null;

  override status({ more }: ItemStatusChanged): void {
    const delta = more?.['output_delta'];
    if (typeof delta === 'string' && delta !== '') this.#say(delta);
  }

  override progress(progress: ToolProgress['progress']): void {
    if (progress.kind === 'command-started') this.#begin(progress.command, progress.cwd);
    else if (progress.kind === 'command-ended') this.#end = progress;
  }

  done(item: Produced): void {
    const call = item as HostedCall;
    const given = parseJsonObject(textIn(call.raw, 'arguments')) ?? {};
    this.#begin(textIn(given, 'cmd'), folderOf(given, this.slot.folder));
    const heard = heardOf(call);
    const failed = { status: 'failed', output: heard ?? '', exitCode: null, durationMs: null } as const;
    const unseen = heard === null ? { ...failed, output: this.#shown, exitCode: -1 } : failed;
    const ran = heard !== null && this.#shown !== '' ? { ...failed, status: 'completed' as const } : unseen;
    this.#finish(this.#end ?? ran, this.rawOf(call));
  }

  cut(): void {
    if (!this.#isAdded) return;
    const end = this.#end ?? { status: 'failed', output: this.#shown, exitCode: -1, durationMs: null };
    this.#finish(end, this.unended());
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

class OpenPatch extends OpenCall {
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

const PREFIX = { call: 'mcp_', approval: 'mcpr_' } as const;

const without = (prefix: string, id: string): string =>
  id.startsWith(prefix) ? id.slice(prefix.length) : id;

const callIdOf = ({ id = '', modelCallId }: HostedCall): string => modelCallId ?? without(PREFIX.call, id);

/** A call of a tool of codex as the model made it. */
const callOf = (item: HostedCall): ToolCall => modelCall(item.raw, callIdOf(item));

const modelCall = (raw: JsonObject, callId: string): ToolCall => {
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
const folderOf = (given: JsonObject, folder: string | null): string | null => {
  const workdir = textIn(given, 'workdir');
  if (workdir === '' || folder === null) return workdir === '' ? folder : workdir;
  return workdir.startsWith('/') ? workdir : `${folder}/${workdir}`;
};

const isApproval = (item: Produced): item is Produced<Opaque> =>
  item.kind === 'opaque' && item.raw.type === 'mcp_approval_request';

const functionAsked = (call: Produced<ToolCall>): AskedCall => ({
  itemId: call.callId,
  callId: call.callId,
  name: call.name,
  arguments: parseJsonObject(call.input) ?? call.input,
  call,
  requestId: null,
});

const approvalAsked = ({ id, raw }: Produced<Opaque>, folder: string | null): AskedCall => {
  const callId = without(PREFIX.approval, id);
  const name = textIn(raw, 'name');
  const given = parseJsonObject(textIn(raw, 'arguments')) ?? {};
  return {
    itemId: id,
    callId,
    name: APPROVAL_FUNCTION,
    arguments:
      name === 'apply_patch'
        ? { name, arguments: given }
        : { name, arguments: given, cwd: folderOf(given, folder) },
    call: modelCall(raw, callId),
    requestId: id,
  };
};
