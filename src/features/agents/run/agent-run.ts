import type { TurnContext } from '../../../canonical/context/turn-context.ts';
import { Accumulator } from '../../../canonical/events/accumulate.ts';
import type { Outcome, TurnEvent } from '../../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../../canonical/events/usage.ts';
import { failure, failureOf, GatewayError, gatewayError } from '../../../canonical/failure/failure.ts';
import type { Message, Part, Produced, ToolCall } from '../../../canonical/request/item.ts';
import { allTools, CallableTools } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { AnswerRequest, AppServer, ThreadSignal } from '../../../codex/app-server.ts';
import {
  isKnownNotification,
  type KnownNotification,
  type ParamsOf,
} from '../../../codex/protocol/methods.ts';
import {
  ACCEPTED,
  askedCall,
  askedFor,
  staysInSandbox,
  type AskedFor,
} from '../../../codex/protocol/server-requests.ts';
import { toOutcome } from '../../../codex/translate/outcomes.ts';
import { rpcFailure, tracedAppServer } from '../../../engine/attempt/app-server-turn.ts';
import { FreshIds } from '../../../engine/steps/step.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { firstAborted, IdleTimer, unlessAborted } from '../../../kit/async/wait.ts';
import { isOffered, PLACEHOLDER, RunConversation } from './conversation.ts';
import { EventQueue } from './event-queue.ts';
import type { AgentGateway, GatewayRun } from './gateway.ts';
import type { AgentEvent, AgentRun, AgentRunRequest, ApprovedToolCall } from './port.ts';
import { codexToolOf, NO_LABEL, RunCalls } from './tool-calls.ts';
import type { AgentPlace, AgentWorkers } from './workers.ts';

export interface AgentRunsOptions {
  readonly workers: AgentWorkers;
  readonly gateway: AgentGateway;
  readonly ambient: Ambient;
  /** Called when codex asked for more than its sandbox gives, and was refused. */
  readonly onRefused: (what: AskedFor) => void;
  /** Called for an unexpected exception, which has ended a run. */
  readonly onBug: (error: unknown) => void;
}

/** Limits of a run without a workspace. */
const LIMITS = { maxSeconds: 1800, maxModelRequests: 200, callSeconds: 600 } as const;

export interface RunParts extends AgentRunsOptions {
  /** The run has ended, and nothing of it is left. */
  readonly onEnd: () => void;
}

/** How a run ends. `why`: what is said of calls that have not finished. */
type RunEnd =
  | { readonly outcome: Outcome; readonly why?: string }
  | { readonly error: unknown; readonly why?: string };

const NOT_OFFERED = 'This tool is not available in this request.';
const GIVEN_UP = 'The model was interrupted.';
const NOT_FINISHED = 'The run ended before the call had finished.';
const LOST: RunEnd = {
  outcome: { kind: 'failed', failure: failure('worker_lost') },
  why: 'The process that ran the call was lost.',
};
const TOO_LONG = { kind: 'incomplete', reason: 'max_run_seconds' } as const;

/** The run is over. One for all, because an abort without a reason creates an error with a stack. */
const OVER = new DOMException('the run has ended', 'AbortError');
const LEFT = new DOMException('the reader of the run has left', 'AbortError');

/** Backends accept no smaller limit of output tokens. */
const MIN_OUTPUT = 16;

/** How long codex may take for what needs no model and no tool. */
const CODEX_MS = 30_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What becomes of a call of the model. */
type CallKind =
  /** codex runs it. */
  | 'run'
  /** The client answers it. */
  | 'client'
  /** It waits for approval. */
  | 'ask'
  /** It is not run, and not shown. */
  | 'drop';

/** A run of codex: one thread with one turn, whose model requests are answered here. */
export class CodexRun implements AgentRun, GatewayRun {
  readonly events: EventQueue;
  readonly #asked: AgentRunRequest;
  readonly #place: AgentPlace;
  readonly #parts: RunParts;
  readonly #appServer: AppServer;
  readonly #signal: AbortSignal;
  readonly #context: TurnContext;
  readonly #conversation: RunConversation;
  readonly #calls: RunCalls;
  readonly #ids = new FreshIds();
  readonly #callIds = new Set<string>();
  /** Aborted when the run ends: then no model is asked any more. */
  readonly #over = new AbortController();
  /** Settled when no request that starts something is under way. */
  readonly #begun = Promise.withResolvers<void>();
  readonly #deadline: NodeJS.Timeout;
  readonly #idle: IdleTimer;
  readonly #callMs: number;
  #isOver = false;
  /** Settled when nothing is left of a run that is over. */
  #ended: Promise<void> = Promise.resolve();
  #threadId: string | null = null;
  #turnId: string | null = null;
  #unwatch = (): void => {};
  #unexpect = (): void => {};
  #isAnswering = false;
  /** Settled when the newest answer has ended. */
  #answering: Promise<void> = Promise.resolve();
  #isAccepted = false;
  #approved: readonly ApprovedToolCall[];
  /** Calls of the last answer that wait for approval. */
  readonly #waiting: ToolCall[] = [];
  #callCount = 0;
  /** Model requests that were sent. */
  #requests = 0;
  #usage: Usage | null = null;
  #lastUsage: Usage | null = null;
  /** What the model is writing. */
  #current: AnswerItems | null = null;
  /** How the last answer of the model has ended. */
  #answered: Outcome | null = null;
  /** Set when the model is not asked again: the run ends when the calls that run have ended. */
  #stop: Outcome | null = null;

  constructor(asked: AgentRunRequest, place: AgentPlace, signal: AbortSignal, parts: RunParts) {
    const { workspace, context, approved } = asked;
    const { maxSeconds, maxModelRequests, callSeconds } = workspace ?? LIMITS;
    this.#asked = asked;
    this.#place = place;
    this.#parts = parts;
    this.#signal = signal;
    this.#approved = approved;
    this.#appServer = tracedAppServer(place.appServer, context.trace);
    const { reserve: _, steering: __, isSteered: ___, ...ofEach } = context;
    this.#context = ofEach;
    context.budget.limitTo(maxModelRequests);
    this.events = new EventQueue(async () => {
      this.#finish({ error: LEFT });
      await this.#ended;
    });
    this.#conversation = new RunConversation(asked);
    this.#calls = new RunCalls({
      label: workspace?.label ?? NO_LABEL,
      folder: workspace?.path ?? null,
      emit: (event) => this.#emit(event),
      hasRoom: () => this.events.hasRoom,
      ids: parts.ambient.ids,
      trace: context.trace,
    });
    this.#callMs = callSeconds * 1000;
    this.#idle = new IdleTimer(CODEX_MS, () => this.#silent());
    this.#deadline = setTimeout(
      () => this.#finish({ outcome: TOO_LONG }),
      Math.min(maxSeconds * 1000, MAX_TIMER_MS),
    );
    signal.addEventListener('abort', this.#onAbort, { once: true });
    place.lost.addEventListener('abort', this.#onLost, { once: true });
    if (signal.aborted) this.#onAbort();
    if (place.lost.aborted) this.#onLost();
  }

  /** Starts the turn. Rejects if it cannot start; then nothing is left of the run. */
  async begin(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      this.#finish({ error });
      this.#begun.resolve();
      await this.#ended;
      this.#signal.throwIfAborted();
      if (this.#place.lost.aborted) throw gatewayError('worker_lost');
      throw new GatewayError(rpcFailure(error), { cause: error });
    }
    this.#begun.resolve();
    if (!this.#signal.aborted) return;
    await this.#ended;
    this.#signal.throwIfAborted();
  }

  async #start(): Promise<void> {
    const appServer = this.#appServer;
    const { thread } = await appServer.request('thread/start', this.#threadStart());
    const threadId = thread.id;
    this.#threadId = threadId;
    this.#goOn();
    this.#unexpect = this.#parts.gateway.expect(threadId, this);
    this.#unwatch = appServer.watchThread(threadId, this.#receive, this.#answerRequest);
    // An injected item would cost as much as the start of the turn.
    const input = [{ type: 'text', text: PLACEHOLDER, text_elements: [] }] as const;
    const { turn } = await appServer.request('turn/start', { threadId, input, summary: 'none' });
    this.#turnId = turn.id;
  }

  #goOn(): void {
    this.#over.signal.throwIfAborted();
    this.#idle.heard();
  }

  #threadStart(): ParamsOf<'thread/start'> {
    const { request } = this.#asked;
    const said = [request.instructions, this.#place.agentsMd].filter(
      (text) => text !== null && text.trim() !== '',
    );
    return {
      ...this.#place.thread,
      model: request.model,
      dynamicTools: [],
      experimentalRawEvents: false,
      ...(said.length === 0 ? {} : { developerInstructions: said.join('\n\n') }),
    };
  }

  async steer(message: Message): Promise<boolean> {
    const input = toUserInput(message);
    const [threadId, expectedTurnId] = [this.#threadId, this.#turnId];
    if (input === null || threadId === null || expectedTurnId === null) return false;
    if (this.#isOver || this.#stop !== null || this.#current?.waitsForClient === true) return false;
    // codex may bring the message with a model request before it answers.
    this.#conversation.expect(message);
    try {
      await this.#appServer.request('turn/steer', { threadId, expectedTurnId, input });
      return true;
    } catch {
      return !this.#conversation.forget(message);
    }
  }

  answer(asked: TurnRequest, left: AbortSignal): AsyncIterable<TurnEvent> | null {
    if (this.#isOver || asked.model !== this.#asked.request.model) return null;
    return this.#answer(asked, left);
  }

  broken(error: unknown): void {
    this.#parts.onBug(error);
    this.#finish({ outcome: { kind: 'failed', failure: failure('server_error') } });
  }

  async *#answer(asked: TurnRequest, left: AbortSignal): AsyncGenerator<TurnEvent> {
    const before = this.#answering;
    const done = Promise.withResolvers<void>();
    this.#answering = done.promise;
    // codex asks again at once when it has given up an answer.
    await before;
    try {
      this.#over.signal.throwIfAborted();
      this.#isAnswering = true;
      this.#idle.hold();
      yield* this.#respond(asked, firstAborted(this.#over.signal, left));
    } catch (error) {
      if (!this.#isOver && !left.aborted) {
        if (!(error instanceof GatewayError)) this.#parts.onBug(error);
        this.#finish({ outcome: { kind: 'failed', failure: failureOf(error) } });
      }
      throw error;
    } finally {
      // codex may ask again, or disconnect, as soon as it has read the end.
      this.#isAnswering = false;
      if (!this.#isOver) {
        this.#abandon();
        this.#idle.allow(this.#calls.isEmpty ? CODEX_MS : this.#callMs);
      }
      done.resolve();
    }
    yield this.#end({ kind: 'completed' });
  }

  /** codex gives up an answer when a message of the user is added meanwhile, and asks again. */
  #abandon(): void {
    const answer = this.#current;
    if (answer === null) return;
    this.#current = null;
    this.#answered = null;
    this.#lastUsage = null;
    this.#endOpen(answer);
    this.#conversation.answered(answer.items);
    this.#waitFor(answer);
  }

  /** The model is not asked again before its calls were answered. */
  #waitFor(answer: AnswerItems): void {
    if (answer.waitsForClient) this.#stop ??= { kind: 'tool-calls' };
    else if (this.#waiting.length > 0 || answer.waitsForApproval) this.#stop ??= { kind: 'completed' };
  }

  /** Ends what the model has begun and not finished. */
  #endOpen(answer = this.#current): void {
    for (const { item } of answer?.open.endOpen('incomplete', { isCut: true }) ?? []) {
      const kind = answer?.kinds.get(item.id);
      if (kind === 'client') this.#emit({ type: 'item-ended', item });
      else if (kind === 'run') this.#calls.fail(answer?.callIds.get(item.id) ?? '', GIVEN_UP);
    }
  }

  /** Answers a model request of codex: with the approved calls, with those of the model, or with nothing. */
  async *#respond(asked: TurnRequest, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const { outputs, steered, chars } = this.#conversation.read(asked);
    await this.#calls.reported(outputs);
    signal.throwIfAborted();
    for (const output of outputs) this.#calls.end(output);
    // codex has given them up with the answer that they were in.
    for (const call of this.#calls.failAll(GIVEN_UP)) this.#conversation.unanswered(call, GIVEN_UP);
    for (const message of steered) this.#emit({ type: 'steered', message });
    const calls = this.#beginApproved();
    if (calls.length > 0) yield* calls.flatMap(wholeItem);
    else {
      this.#checkLimits();
      if (this.#stop === null) yield* this.#askModel(asked, chars, signal);
    }
  }

  #checkLimits(): void {
    if (this.#requests === 0) return;
    const { request, context } = this.#asked;
    if (context.budget.isLimitReached) this.#stop ??= { kind: 'incomplete', reason: 'max_model_requests' };
    const left = outputLeft(request, this.#usage);
    if (left !== null && left < MIN_OUTPUT)
      this.#stop ??= { kind: 'incomplete', reason: 'max_output_tokens' };
  }

  /** The approved calls that codex runs now. */
  #beginApproved(): readonly Produced<ToolCall>[] {
    const approved = this.#approved;
    this.#approved = [];
    if (approved.length > 0)
      this.#accept({ type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} });
    return approved.flatMap(({ requestId, call }) => {
      const tool = codexToolOf(call);
      const kind = tool === null || !isOffered(tool, this.#asked) ? 'drop' : this.#counted();
      if (kind === 'drop' && this.#stop !== null) return [];
      const prefix = call.tool === 'custom' ? 'ctc' : 'fc';
      const item = { ...call, id: call.id ?? this.#parts.ambient.ids.mint(prefix) };
      this.#callIds.add(call.callId);
      this.#conversation.answered([item]);
      this.#calls.begin(item, requestId);
      this.#calls.write(call.callId, call.input);
      this.#calls.ready(item);
      if (kind === 'run') return [item];
      this.#calls.fail(call.callId, NOT_OFFERED);
      this.#conversation.unanswered(call, NOT_OFFERED);
      return [];
    });
  }

  /** Counts a call that codex runs; it is dropped if there are too many. */
  #counted(): 'run' | 'drop' {
    const { maxCalls } = this.#asked;
    if (maxCalls !== null && this.#callCount >= maxCalls) {
      this.#stop = { kind: 'incomplete', reason: 'max_tool_calls' };
      return 'drop';
    }
    this.#callCount += 1;
    return 'run';
  }

  /** Asks the model. Yields the calls that codex runs. */
  async *#askModel(asked: TurnRequest, chars: number, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const { engine, context } = this.#asked;
    await this.#reserve(chars, signal);
    context.budget.nextRequest();
    const next = this.#conversation.next(asked);
    const request = { ...next, maxOutputTokens: outputLeft(next, this.#usage) };
    const plan = engine.plan(request, this.#context);
    const [refused] = plan.refused;
    if (refused !== undefined)
      throw gatewayError(refused.kind, { message: `The model request was refused: ${refused.why}.` });
    const answer = new AnswerItems(new CallableTools(allTools(request), request.toolChoice));
    this.#current = answer;
    this.#requests += 1;
    this.#ids.nextAnswer();
    for await (const received of plan.run(signal)) {
      signal.throwIfAborted();
      const event = this.#ids.rename(received);
      if (event.type === 'turn-ended') {
        this.#current = null;
        this.#modelEnded(event, answer);
        return;
      }
      yield* this.#take(event, answer);
      if (!this.events.hasRoom) await unlessAborted(this.events.room(), signal);
    }
    throw gatewayError('server_error');
  }

  /** Shows an event of the model. Yields what codex has to run. */
  *#take(event: TurnEvent, answer: AnswerItems): Generator<TurnEvent> {
    switch (event.type) {
      case 'turn-accepted':
        this.#accept(event);
        return;
      case 'item-started': {
        const item = this.#withFreshCall(event.item, answer);
        if (item.kind !== 'tool-call') answer.report(item);
        const kind = item.kind === 'tool-call' ? this.#kindOf(item) : 'client';
        answer.kinds.set(item.id, kind);
        answer.open.add({ ...event, item });
        if (item.kind !== 'tool-call') this.#emit(event);
        else if (kind === 'client') this.#emit({ ...event, item });
        else if (kind === 'run') this.#calls.begin(item, null);
        return;
      }
      case 'item-delta': {
        answer.open.add(event);
        const kind = answer.kinds.get(event.itemId);
        if (kind === 'client') this.#emit(event);
        else if (kind === 'run') this.#calls.write(answer.callIds.get(event.itemId) ?? '', event.delta);
        return;
      }
      case 'item-status':
        if (answer.kinds.get(event.itemId) === 'client') this.#emit(event);
        return;
      case 'item-ended': {
        const item = answer.withCallId(event.item);
        const kind = answer.kinds.get(item.id);
        if (kind !== 'drop') answer.items.push(item);
        answer.open.add({ ...event, item });
        if (kind === 'client') this.#emit({ ...event, item });
        if (item.kind !== 'tool-call' || item.status === 'incomplete') return;
        if (kind === 'client') answer.waitsForClient = true;
        if (kind === 'ask') this.#waiting.push(item);
        if (kind !== 'run') return;
        this.#calls.ready(item);
        yield* wholeItem(item);
        return;
      }
      case 'turn-ended':
    }
  }

  #kindOf(call: ToolCall): CallKind {
    const tool = codexToolOf(call);
    if (tool === null) return 'client';
    if (!isOffered(tool, this.#asked)) return isAmongClients(call, this.#asked.request) ? 'client' : 'drop';
    return this.#asked.needsApproval(tool) ? 'ask' : this.#counted();
  }

  /** Every call of the run has an id of its own. */
  #withFreshCall(item: Produced, answer: AnswerItems): Produced {
    if (item.kind !== 'tool-call') return item;
    const isFree = item.callId !== '' && !this.#callIds.has(item.callId);
    const callId = isFree ? item.callId : this.#parts.ambient.ids.mint('call');
    this.#callIds.add(callId);
    answer.callIds.set(item.id, callId);
    return { ...item, callId };
  }

  #modelEnded({ outcome, usage }: Extract<TurnEvent, { type: 'turn-ended' }>, answer: AnswerItems): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#lastUsage = usage;
    if (outcome.kind === 'failed') throw new GatewayError(outcome.failure);
    this.#conversation.answered(answer.items);
    this.#answered = outcome;
    if (outcome.kind === 'incomplete') this.#stop ??= outcome;
    this.#waitFor(answer);
  }

  /** The first request of a run was reserved before it started. */
  async #reserve(chars: number, signal: AbortSignal): Promise<void> {
    const { reserve } = this.#asked.context;
    if (reserve === undefined || this.#requests === 0) return;
    const part = await reserve(chars, signal);
    if (signal.aborted) part.giveBack();
    else part.begin(Promise.resolve(this.#lastUsage));
    signal.throwIfAborted();
  }

  readonly #receive = (signal: ThreadSignal): void => {
    if (signal.kind === 'closed') this.#onLost();
    else if (signal.kind === 'tool-call') signal.respond(NO_SUCH_TOOL);
    else if (isKnownNotification(signal)) this.#notified(signal);
  };

  #notified({ method, params }: KnownNotification): void {
    this.#idle.heard();
    switch (method) {
      case 'item/started':
        this.#calls.itemStarted(params.item);
        return;
      case 'item/completed':
        this.#calls.itemCompleted(params.item);
        return;
      case 'item/commandExecution/outputDelta':
        this.#calls.outputDelta(params.itemId, params.delta);
        return;
      case 'turn/completed': {
        const reported = toOutcome(params.turn);
        this.#finish({ outcome: reported.kind === 'completed' ? (this.#outcome ?? reported) : reported });
        return;
      }
      case 'error':
      case 'item/agentMessage/delta':
      case 'item/reasoning/summaryPartAdded':
      case 'item/reasoning/summaryTextDelta':
      case 'item/reasoning/textDelta':
      case 'rawResponse/completed':
      case 'rawResponseItem/completed':
      case 'thread/tokenUsage/updated':
      // The answers of the model are read before codex reads them.
    }
  }

  readonly #answerRequest: AnswerRequest = (method, params) => {
    const callId = askedCall(params);
    const given = callId === null ? null : this.#calls.argumentsOf(callId);
    if (!this.#isOver && staysInSandbox(method, params, given)) return ACCEPTED;
    this.#parts.onRefused(askedFor(method));
    return null;
  };

  readonly #onAbort = (): void => this.#finish({ error: this.#signal.reason });
  readonly #onLost = (): void => this.#finish(LOST);

  #silent(): void {
    if (this.#calls.isEmpty) {
      const outcome = this.#outcome;
      this.#finish(outcome === null ? LOST : { outcome });
      return;
    }
    this.#finish({ outcome: TOO_LONG, why: `The call wrote nothing for ${this.#callMs / 1000} s.` });
  }

  /** How the run ends if codex does not ask the model again; null: the model has not answered. */
  get #outcome(): Outcome | null {
    if (this.#stop !== null) return this.#stop;
    return this.#answered?.kind === 'tool-calls' ? { kind: 'completed' } : this.#answered;
  }

  #accept(event: Extract<TurnEvent, { type: 'turn-accepted' }>): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#emit(event);
  }

  /** Shows an event. What does not come from the model counts as part of the answer. */
  #emit(event: AgentEvent): void {
    this.events.push(event);
    const more = addedChars(event);
    if (more === 0 || this.#asked.context.budget.write(more)) return;
    this.#finish({ outcome: { kind: 'failed', failure: failure('answer_too_large') } });
  }

  #end(outcome: Outcome): Extract<TurnEvent, { type: 'turn-ended' }> {
    return { type: 'turn-ended', outcome, usage: null, at: this.#parts.ambient.clock.now() };
  }

  /** Ends the run, once. */
  #finish(end: RunEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended = this.#cleanUp(end).catch((error: unknown) => {
      this.#parts.onBug(error);
      this.#parts.onEnd();
      this.events.fail(error);
    });
  }

  async #cleanUp(end: RunEnd): Promise<void> {
    this.#over.abort(OVER);
    clearTimeout(this.#deadline);
    this.#idle.stop();
    this.#unexpect();
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#place.lost.removeEventListener('abort', this.#onLost);
    // The turn may just be starting: it can be interrupted when it has its id.
    await this.#begun.promise;
    const threadId = this.#threadId;
    const thread = threadId === null ? null : { threadId, turnId: this.#turnId };
    const isCalm = 'outcome' in end && this.#calls.isEmpty && !this.#isAnswering;
    await this.#place.close(thread, isCalm ? 'ended' : 'cut');
    this.#unwatch();
    this.#endOpen();
    this.#calls.failAll(end.why ?? NOT_FINISHED);
    this.#calls.stop();
    this.#parts.onEnd();
    if ('error' in end) {
      this.events.fail(end.error);
      return;
    }
    if (end.outcome.kind !== 'failed') for (const call of this.#waiting) this.#calls.ask(call);
    this.events.push({ ...this.#end(end.outcome), usage: this.#usage });
    this.events.close();
  }
}

/** The items of one answer of the model. */
class AnswerItems {
  /** Of all items, so that those that are open can be ended. */
  readonly open = new Accumulator();
  readonly items: Produced[] = [];
  /** By item id. Other items are for the client. */
  readonly kinds = new Map<string, CallKind>();
  readonly callIds = new Map<string, string>();
  waitsForClient = false;
  waitsForApproval = false;
  readonly #callable: CallableTools;

  constructor(callable: CallableTools) {
    this.#callable = callable;
  }

  /** A hosted tool may also be one that the client has to answer. */
  report(item: Produced): void {
    if (!('raw' in item)) return;
    if (this.#callable.meaningOf(item) !== 'call') return;
    if (item.raw.type === 'mcp_approval_request') this.waitsForApproval = true;
    else this.waitsForClient = true;
  }

  withCallId(item: Produced): Produced {
    const callId = this.callIds.get(item.id);
    return item.kind === 'tool-call' && callId !== undefined ? { ...item, callId } : item;
  }
}

const isAmongClients = (call: ToolCall, { tools, items }: TurnRequest): boolean =>
  new CallableTools(allTools({ tools, items })).known(call) !== null;

/** The limit of the client is for all answers of a run together; null: there is none. */
const outputLeft = ({ maxOutputTokens }: TurnRequest, used: Usage | null): number | null =>
  maxOutputTokens === null ? null : maxOutputTokens - (used?.outputTokens ?? 0);

/** A call, as codex reads it. */
const wholeItem = (item: Produced<ToolCall>): readonly TurnEvent[] => [
  { type: 'item-started', item: { ...item, input: '' } },
  { type: 'item-ended', item: { ...item, status: 'completed' } },
];

const NO_SUCH_TOOL = {
  contentItems: [{ type: 'inputText', text: 'unsupported call' }],
  success: false,
};

/** The length of what tools add to the answer. */
const addedChars = (event: AgentEvent): number => {
  if (event.type !== 'item-ended' || event.item.kind !== 'hosted-call') return 0;
  const { modelCallId, raw } = event.item;
  const { output } = raw;
  return modelCallId !== undefined && typeof output === 'string' ? output.length : 0;
};

type UserInput = ParamsOf<'turn/steer'>['input'][number];

/** Null: codex cannot add it to a turn. */
const toUserInput = ({ parts }: Message): readonly UserInput[] | null => {
  const input = parts.map(toInputPart);
  return input.length > 0 && input.every((part) => part !== null) ? input : null;
};

const toInputPart = (part: Part): UserInput | null => {
  if (part.kind === 'text') return { type: 'text', text: part.text, text_elements: [] };
  if (part.kind !== 'image') return null;
  const { url, detail } = part;
  return { type: 'image', url, ...(detail === undefined ? {} : { detail }) };
};
