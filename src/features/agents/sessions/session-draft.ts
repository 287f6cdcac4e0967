import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Item, Part, ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import { addUsage, type Usage } from '../../../canonical/events/usage.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { parseJsonObject } from '../../../kit/json/json.ts';
import { agentError } from '../failures.ts';
import type {
  AgentSessionRow,
  InputKey,
  QueueRoom,
  SessionChange,
  SessionItemRow,
  SessionPhase,
  SessionTurnRow,
} from '../store/port.ts';
import type {
  SessionEvent,
  SessionFunctionCall,
  SessionInputContent,
  SessionItem,
  SessionObject,
} from './objects.ts';
import type { InputEvent, ToolResult } from './read-events.ts';
import type { SessionInput } from './read-session.ts';
import {
  readSettings,
  readState,
  showSession,
  showTurn,
  type OpenTurn,
  type SessionSettings,
  type SessionState,
  type AskedCall,
  type HowTurnEnded,
  type TurnMessage,
  type WaitingCall,
} from './session-state.ts';

export interface DraftRules extends Ambient {
  /** How long a session is kept after it was active. */
  readonly ttlMs: number;
  /** How long a turn waits for its client. */
  readonly actionTimeoutMs: number;
}

/** An answer to an approval, or that it came too late. */
export interface MadeDecision {
  readonly answer: 'approved' | 'declined' | 'late';
  readonly waitedMs: number;
}

/** How long the events of a turn are kept after its end. */
export const EVENTS_TTL_MS = 10 * 60_000;
/** Messages that wait until the model reads them. */
const MAX_WAITING_MESSAGES = 100;
/** Of those messages together, unless only one post waits: all of them are written again with every change. */
const MAX_WAITING_CHARS = 4 * 1024 * 1024;

/**
 * A change of a session, made from what is stored: a state machine without IO. If another one was faster, the change is made
 * again from what that has left.
 */
export class SessionDraft {
  readonly #rules: DraftRules;
  readonly #row: AgentSessionRow;
  readonly #now: number;
  readonly #events: SessionEvent[] = [];
  readonly #turns: SessionTurnRow[] = [];
  readonly #items: SessionItemRow[] = [];
  /** A turn has ended. */
  #hasEnded = false;
  /** The client has begun a turn. */
  #hasBegun = false;
  /** What is counted when the change is made. */
  readonly ended: HowTurnEnded['status'][] = [];
  readonly decisions: MadeDecision[] = [];
  settings: SessionSettings;
  metadata: AgentSessionRow['metadata'];
  state: SessionState;
  phase: SessionPhase;
  #nextItem: number;
  #queuedAt: number | null;
  #deadlineAt: number | null;
  #lastActiveAt: number;

  constructor(row: AgentSessionRow, rules: DraftRules) {
    this.#rules = rules;
    this.#row = row;
    this.#now = rules.clock.now();
    this.settings = readSettings(row);
    this.state = readState(row);
    this.metadata = row.metadata;
    this.phase = row.phase;
    this.#nextItem = row.nextItem;
    this.#queuedAt = row.queuedAt;
    this.#deadlineAt = row.deadlineAt;
    this.#lastActiveAt = row.lastActiveAt;
  }

  get turn(): OpenTurn | null {
    return this.state.turn;
  }

  session(): SessionObject {
    return showSession({
      id: this.#row.id,
      createdAt: this.#row.createdAt,
      phase: this.phase,
      lastActiveAt: this.#lastActiveAt,
      metadata: this.metadata,
      settings: this.settings,
      state: this.state,
    });
  }

  /** What is written. */
  change(more: {
    readonly inputKey?: InputKey;
    /** For a turn that begins to wait. */
    readonly room?: QueueRoom;
  }): SessionChange {
    const { ttlMs } = this.#rules;
    const expiresAt = this.#lastActiveAt + ttlMs;
    const isOver = this.state.turn === null;
    const overAt = this.#now + EVENTS_TTL_MS;
    return {
      phase: this.phase,
      queuedAt: this.#queuedAt,
      deadlineAt: this.#deadlineAt,
      lastActiveAt: this.#lastActiveAt,
      expiresAt,
      state: JSON.stringify(this.state),
      settings: JSON.stringify(this.settings),
      metadata: this.metadata,
      events: this.#events.map((event) => JSON.stringify(event)),
      turns: this.#turns,
      items: this.#items,
      nextItem: this.#nextItem,
      eventsExpireAt: isOver ? overAt : expiresAt,
      expireEventsAt: this.#hasEnded ? overAt : null,
      inputKey: more.inputKey ?? null,
      room: this.#hasBegun ? (more.room ?? null) : null,
    };
  }

  created(): void {
    this.#emit({ type: 'agent.session.created', session: this.session() });
  }

  /** Applies input of the client. Throws if it cannot be applied. Returns the turn that its messages are for. */
  apply(events: readonly InputEvent[]): string | null {
    let turnId: string | null = null;
    for (const event of events) {
      if (event.type === 'message') turnId = this.post(event.messages);
      else if (event.type === 'cancel') this.cancel();
      else this.answer(event.result);
    }
    return turnId;
  }

  /** Begins a turn, or adds to the one that has not ended. Returns the id of that turn; null: it is not known yet. */
  post(messages: readonly SessionInput[]): string | null {
    const { ids } = this.#rules;
    const added = messages.map((content): TurnMessage => ({ id: ids.mint('msg'), content }));
    this.#touch();
    const { turn } = this.state;
    if (turn === null) {
      this.#hasBegun = true;
      return this.#begin(added);
    }
    const before = [...turn.input, ...turn.next];
    const isLong = before.length > 0 && charsOf([...before, ...added]) > MAX_WAITING_CHARS;
    if (isLong || before.length + added.length > MAX_WAITING_MESSAGES) {
      throw agentError('agent_queue_full', {
        message: 'Too many messages wait for the turn of this session. Please try again later.',
      });
    }
    if (turn.isCancelled) {
      this.#setTurn({ ...turn, next: [...turn.next, ...added] });
      return null;
    }
    this.#setTurn({ ...turn, input: [...turn.input, ...added] });
    return turn.id;
  }

  #begin(input: readonly TurnMessage[]): string {
    const pos = this.state.turns + 1;
    const turn: OpenTurn = {
      id: this.#rules.ids.mint('turn'),
      pos,
      createdAt: this.#now,
      startedAt: null,
      agent: this.settings.agent,
      usage: null,
      nextIndex: 0,
      ranMs: 0,
      step: null,
      input,
      calls: [],
      isCancelled: false,
      next: [],
    };
    this.state = { ...this.state, turns: pos, turn };
    this.phase = 'queued';
    this.#queuedAt = this.#now;
    this.#emit({ type: 'agent.session.in_progress', session: this.session() });
    const shown = this.#writeTurn(turn, 'queued');
    this.#emit({ type: 'agent.session.turn.created', ...this.#place(turn), turn: shown });
    return turn.id;
  }

  /** On the client's wish. A turn that runs learns of it, and ends later. */
  cancel(): void {
    const { turn } = this.state;
    if (turn === null || turn.isCancelled) return;
    this.#touch();
    if (this.phase === 'running') this.#setTurn({ ...turn, isCancelled: true });
    else this.end({ status: 'cancelled', error: null });
  }

  /** The result of a function, or the answer to an approval. */
  answer(result: ToolResult): void {
    const { turn } = this.state;
    const call =
      this.phase !== 'waiting' || turn?.id !== result.turnId
        ? undefined
        : turn.calls.find(({ callId, answer }) => callId === result.callId && answer === null);
    if (turn === null || call === undefined) throw unknownCall(result.callId);
    this.#touch();
    const decision = call.requestId === null ? null : decisionOf(result);
    if (decision !== null) {
      this.#decided(call, decision.isApproved ? 'approved' : 'declined');
    }
    const pos = this.#addItem(
      turn,
      {
        id: this.#rules.ids.mint('fco'),
        type: 'function_call_output',
        turn_id: turn.id,
        call_id: call.callId,
        output: result.output,
        error: result.error,
        status: result.success ? 'completed' : 'failed',
      },
      rawAnswer(call, result, decision),
      null,
    );
    const answer = { isApproved: decision?.isApproved ?? false, pos };
    const calls = turn.calls.map((one) => (one === call ? { ...one, answer } : one));
    this.#setTurn({ ...turn, calls });
    if (calls.every((one) => one.answer !== null)) {
      this.phase = 'ready';
      // It has its place in front of turns that came later.
      this.#queuedAt = turn.createdAt;
      this.#deadlineAt = null;
      this.#writeTurn({ ...turn, calls }, this.phase);
      this.#emit({ type: 'agent.session.in_progress', session: this.session() });
    }
    this.#doneCall(turn, call, result.success ? 'completed' : 'failed');
  }

  /** An instance runs the turn from now on. */
  start(): void {
    const { turn } = this.state;
    if (turn === null) return;
    this.#touch();
    if (turn.startedAt === null) {
      const started = { ...turn, startedAt: this.#now };
      this.#setTurn(started);
      const shown = this.#writeTurn(started, 'running');
      this.#emit({ type: 'agent.session.turn.in_progress', ...this.#place(turn), turn: shown });
    }
    for (const message of turn.input) this.#addMessage(turn, message);
    this.#setTurn({ ...(this.state.turn ?? turn), input: [], step: this.#rules.ids.mint('step') });
  }

  /** Places of items that are taken. */
  reserve(nextItem: number): void {
    this.#nextItem = Math.max(this.#nextItem, nextItem);
  }

  /** A message that was added to the turn has reached the model. */
  steered(messageId: string): void {
    const { turn } = this.state;
    const message = turn?.input.find(({ id }) => id === messageId);
    if (turn === null || message === undefined) return;
    this.#addMessage(turn, message);
    this.#setTurn({ ...turn, input: turn.input.filter((one) => one !== message) });
  }

  /** What the turn has used and produced so far. */
  ran(more: {
    readonly usage: Usage | null;
    readonly nextIndex: number;
    readonly nextItem: number;
    readonly ranMs: number;
  }): void {
    const { turn } = this.state;
    if (turn === null) return;
    this.reserve(more.nextItem);
    this.#setTurn({
      ...turn,
      usage: addUsage(turn.usage, more.usage),
      nextIndex: Math.max(turn.nextIndex, more.nextIndex),
      ranMs: turn.ranMs + more.ranMs,
      calls: [],
    });
  }

  /** The turn waits for its client. */
  wait(asked: readonly AskedCall[]): void {
    const { turn } = this.state;
    if (turn === null) return;
    this.#touch();
    const calls: WaitingCall[] = [];
    for (const call of asked) {
      const index = turn.nextIndex + calls.length;
      const shown = functionCall(turn.id, call, 'in_progress');
      const raw = call.requestId === null ? [call.call] : null;
      const pos = this.#addItem(turn, shown, raw, index);
      calls.push({ ...call, pos, index, askedAt: this.#now, answer: null });
    }
    const waiting = { ...turn, calls, nextIndex: turn.nextIndex + calls.length };
    this.#setTurn(waiting);
    this.phase = 'waiting';
    this.#deadlineAt = this.#now + this.#rules.actionTimeoutMs;
    this.#writeTurn(waiting, this.phase);
    this.#emit({ type: 'agent.session.requires_action', session: this.session() });
  }

  /** Items that have no end: their instance has stopped. */
  cut(open: readonly OpenStoredItem[]): void {
    const { turn } = this.state;
    if (turn === null) return;
    for (const { pos, index, item: shown } of open) {
      const item = { ...shown, status: 'incomplete' } as SessionItem;
      this.#items.push({ id: item.id, pos, turnId: turn.id, body: JSON.stringify(item) });
      this.#emit({
        type: 'agent.session.turn.item.done',
        ...this.#place(turn),
        output_index: index,
        item,
      });
    }
  }

  /** The turn could not run now: it waits for a place again, unless its client has cancelled it meanwhile. */
  requeue(): void {
    const { turn } = this.state;
    if (turn === null) return;
    if (turn.isCancelled) {
      this.end({ status: 'cancelled', error: null });
      return;
    }
    this.phase = 'ready';
    this.#queuedAt = turn.createdAt;
  }

  /** The turn ends. Messages that did not reach the model begin the next one, unless the client has cancelled them. */
  end(ending: HowTurnEnded): void {
    const { turn } = this.state;
    if (turn === null) return;
    this.#touch();
    for (const call of turn.calls) {
      if (call.answer !== null) continue;
      this.#doneCall(turn, call, 'incomplete');
      if (call.requestId !== null && ending.error?.code === 'request_timeout') this.#decided(call, 'late');
    }
    const hasBegun = turn.startedAt !== null;
    const isCancelled = ending.status === 'cancelled';
    // What a turn began with is not run again, and what was cancelled is not run.
    const isKept = hasBegun ? isCancelled : !isCancelled;
    if (isKept) for (const message of turn.input) this.#addMessage(turn, message);
    const shown = showTurn(this.#row.id, turn, { ...ending, at: this.#now });
    this.#turns.push({ id: turn.id, pos: turn.pos, body: JSON.stringify(shown) });
    this.#emit({
      type: `agent.session.turn.${ending.status}`,
      ...this.#place(turn),
      turn: shown,
      usage: shown.usage,
    });
    this.state = { ...this.state, usage: addUsage(this.state.usage, turn.usage), turn: null };
    this.phase = this.state.error === null ? 'idle' : 'failed';
    this.#queuedAt = null;
    this.#deadlineAt = null;
    this.#emit({ type: `agent.session.${this.phase}`, session: this.session() });
    this.#hasEnded = true;
    this.ended.push(ending.status);
    const left = [...(hasBegun && !isCancelled ? turn.input : []), ...turn.next];
    if (left.length > 0 && this.phase === 'idle') this.#begin(left);
  }

  /** The session cannot go on. */
  fail(why: string, code: 'invalid_request' | 'internal_error'): void {
    this.#touch();
    this.state = { ...this.state, error: why };
    if (this.state.turn !== null) {
      this.end({ status: 'failed', error: { code, message: why } });
      return;
    }
    this.phase = 'failed';
    this.#emit({ type: 'agent.session.failed', session: this.session() });
  }

  /** On the client's wish, from the next turn on. */
  update(settings: SessionSettings, metadata: AgentSessionRow['metadata']): void {
    this.settings = settings;
    this.metadata = metadata;
    this.#touch();
  }

  /** Adds to what is written. */
  write(items: readonly SessionItemRow[], events: readonly SessionEvent[]): void {
    this.#items.push(...items);
    this.#events.push(...events);
  }

  #decided({ askedAt }: WaitingCall, answer: MadeDecision['answer']): void {
    this.decisions.push({ answer, waitedMs: this.#now - askedAt });
  }

  #touch(): void {
    this.#lastActiveAt = Math.max(this.#now, this.#lastActiveAt);
  }

  #setTurn(turn: OpenTurn): void {
    this.state = { ...this.state, turn };
  }

  #emit(event: SessionEvent): void {
    this.#events.push(event);
  }

  #place({ id }: OpenTurn): { readonly session_id: string; readonly turn_id: string } {
    return { session_id: this.#row.id, turn_id: id };
  }

  #writeTurn(turn: OpenTurn, phase: SessionPhase) {
    const shown = showTurn(this.#row.id, turn, phase);
    this.#turns.push({ id: turn.id, pos: turn.pos, body: JSON.stringify(shown) });
    return shown;
  }

  #addMessage(turn: OpenTurn, { id, content }: TurnMessage): void {
    const shown: SessionItem = {
      id,
      type: 'message',
      role: 'user',
      turn_id: turn.id,
      phase: null,
      status: 'completed',
      content,
    };
    this.#addItem(turn, shown, [messageOf(content)], null);
  }

  #addItem(turn: OpenTurn, item: SessionItem, raw: readonly Item[] | null, index: number | null): number {
    const pos = this.#nextItem;
    this.#nextItem += 1;
    this.#items.push({
      id: item.id,
      pos,
      turnId: turn.id,
      body: JSON.stringify(item),
      raw: raw === null ? null : JSON.stringify(raw),
    });
    this.#emit({ type: 'agent.session.turn.item.added', ...this.#place(turn), output_index: index, item });
    return pos;
  }

  #doneCall(turn: OpenTurn, call: WaitingCall, status: SessionFunctionCall['status']): void {
    const item = functionCall(turn.id, call, status);
    this.#items.push({
      id: item.id,
      pos: call.pos,
      turnId: turn.id,
      body: JSON.stringify(item),
      raw: call.requestId === null ? JSON.stringify([call.call]) : null,
    });
    this.#emit({
      type: 'agent.session.turn.item.done',
      ...this.#place(turn),
      output_index: call.index,
      item,
    });
  }
}

/** An item that has no end: its instance has stopped. */
export interface OpenStoredItem {
  readonly item: SessionItem;
  readonly pos: number;
  readonly index: number | null;
}

const functionCall = (
  turnId: string,
  { itemId, callId, name, ...call }: AskedCall,
  status: SessionFunctionCall['status'],
): SessionFunctionCall => ({
  id: itemId,
  type: 'function_call',
  turn_id: turnId,
  call_id: callId,
  name,
  arguments: call.arguments,
  status,
});

/** The SDK of OpenAI tries again with these words and this code only. */
const unknownCall = (callId: string) =>
  gatewayError('invalid_value', {
    code: 'invalid_request_error',
    message: `Unknown pending tool call: ${callId}`,
  });

const charsOf = (messages: readonly TurnMessage[]): number =>
  messages
    .flatMap(({ content }) => content)
    .reduce((sum, part) => sum + (part.type === 'input_text' ? part.text : part.image_url).length, 0);

/** What the model gets of content. */
const partsOfContent = (content: readonly SessionInputContent[]): readonly Part[] =>
  content.map((part): Part =>
    part.type === 'input_text' ? { kind: 'text', text: part.text } : { kind: 'image', url: part.image_url },
  );

export const messageOf = (content: readonly SessionInputContent[]): Item => ({
  kind: 'message',
  role: 'user',
  parts: partsOfContent(content),
});

interface Decision {
  readonly isApproved: boolean;
  readonly reason: string | null;
}

/** `approve`, or an object with `approve`, approves the call; anything else does not. */
const decisionOf = ({ success, output, error }: ToolResult): Decision => {
  const text =
    typeof output === 'string'
      ? output
      : (output ?? []).map((part) => (part.type === 'input_text' ? part.text : '')).join('');
  const object = parseJsonObject(text.trim());
  const isApproved = success && (text.trim() === 'approve' || object?.['approve'] === true);
  const reason = object?.['reason'];
  return { isApproved, reason: error ?? (typeof reason === 'string' && reason !== '' ? reason : null) };
};

/** What the model hears of a call that has no output. */
export const ABORTED = 'aborted';

export const outputOf = (call: ToolCall, output: ToolOutput['output']): ToolOutput => ({
  kind: 'tool-output',
  tool: call.tool,
  callId: call.callId,
  output,
});

/** What the model gets of an answer. Of an approved call it is what it gets if the call never runs. */
const rawAnswer = (
  { call }: WaitingCall,
  { success, output, error }: ToolResult,
  decision: Decision | null,
): readonly Item[] => {
  if (decision === null) {
    if (!success) return [outputOf(call, error ?? 'The function failed.')];
    const content = output === null ? '' : typeof output === 'string' ? output : partsOfContent(output);
    return [outputOf(call, content)];
  }
  if (decision.isApproved) return [call, outputOf(call, ABORTED)];
  const why =
    decision.reason === null ? 'This call was declined.' : `This call was declined: ${decision.reason}`;
  return [call, outputOf(call, why)];
};
