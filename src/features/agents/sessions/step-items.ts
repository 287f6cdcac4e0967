import type { Opaque, Produced, ToolCall } from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { parseJsonObject, textIn } from '../../../kit/json/json.ts';
import type { AgentEvent, ToolProgress } from '../run/port.ts';
import type { SessionItemRow } from '../store/port.ts';
import {
  callIdOf,
  folderOf,
  HiddenCall,
  modelCall,
  OpenCommand,
  OpenPatch,
  PREFIX,
  without,
} from './codex-calls.ts';
import type { SessionEvent } from './objects.ts';
import {
  HiddenItem,
  OpenMessage,
  OpenReasoning,
  OpenSearch,
  type OnCommand,
  type OpenItem,
  type Slot,
} from './open-items.ts';
import { APPROVAL_FUNCTION } from './read-agent.ts';
import type { AskedCall } from './session-state.ts';

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

/** Turns the events of a run into items and events of a session. */
export class StepItems {
  readonly #place: StepPlace;
  readonly #sink: StepSink;
  readonly #open = new Map<string, OpenItem>();
  readonly #asked: AskedCall[] = [];
  #nextIndex: number;
  #nextItem: number;

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
        this.#progress(event);
        return;
      case 'item-ended':
        this.#done(event.item);
        return;
      case 'turn-ended':
      case 'turn-accepted':
      case 'steered':
        return;
      default:
        assertNever(event);
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

  #progress({ itemId, progress }: ToolProgress): void {
    const open = this.#open.get(itemId);
    if (open === undefined) return;
    const wentOn = open.goesOn;
    open.progress(progress);
    if (wentOn && !open.goesOn) this.#open.delete(itemId);
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
    open.done(item);
    if (open.goesOn) this.#open.set(item.id, open);
    else this.#open.delete(item.id);
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
      note: (make) => this.#sink.event(make({ session_id: sessionId, turn_id: turnId })),
      row: (shown, raw) =>
        this.#sink.row({
          id,
          pos,
          turnId,
          body: shown === null ? null : JSON.stringify(shown),
          raw: raw === null ? null : JSON.stringify(raw),
        }),
      replace: (row) => this.#sink.row({ id: row.id, pos: row.pos, turnId: row.turnId, raw: null }),
    };
  }
}

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
