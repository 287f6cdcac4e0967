import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { GatewayError } from '../../../canonical/failure/failure.ts';
import type { TurnEnded } from '../../../canonical/events/turn-event.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import type { BodyBudget } from '../../../turns/body-budget.ts';
import { within } from '../../../kit/async/wait.ts';
import { insistently } from '../../../turns/insistently.ts';
import type { AgentEvent, AgentRun } from '../run/port.ts';
import type { AgentSessionRow, AgentSessionStore } from '../store/port.ts';
import { asksApproval } from './read-agent.ts';
import type { SessionChanges } from './session-changes.ts';
import { messageOf, type SessionDraft } from './session-draft.ts';
import { readSettings, readState, type OpenTurn } from './session-state.ts';
import type { OnCommand } from './open-items.ts';
import { StepItems } from './step-items.ts';
import { readHistory } from './step-request.ts';
import { runStep, steeringMessage, type StepDeps } from './step-run.ts';
import { StepWriter } from './step-writer.ts';
import { INCOMPLETE_TURNS, LONG_TURN, STOPPED_TURN, turnErrorOf, type TurnError } from './turn-errors.ts';

export interface SessionStepDeps extends StepDeps {
  readonly store: AgentSessionStore;
  readonly changes: SessionChanges;
  readonly ambient: Ambient;
  readonly bodies: BodyBudget;
  readonly instance: string;
  readonly ttlMs: number;
  readonly turnTimeoutMs: number;
  readonly onCommand: OnCommand;
  readonly onError: (error: unknown) => void;
}

/**
 * Why a step ends early. `cancelled`: its client wants it. `late`: it has run too long. `stopped`: this server stops. `lost`:
 * another instance has the session, or nothing can be written.
 */
type StopReason = 'cancelled' | 'late' | 'stopped' | 'lost';

class Stopped extends Error {
  readonly why: StopReason;

  constructor(why: StopReason) {
    super(`the turn was stopped: ${why}`);
    this.why = why;
  }
}

/** What becomes of the turn after a step. */
type Outcome =
  | { readonly kind: 'completed' | 'cancelled' | 'waits' | 'busy' | 'lost' }
  | { readonly kind: 'failed'; readonly error: TurnError };

const NEVER = new AbortController().signal;
/** For a message that is being passed on to a run that has ended. */
const CHECK_MS = 10_000;
const APPROVED_TOOLS: ReadonlySet<string> = new Set(['exec_command', 'write_stdin', 'apply_patch']);

/** How a turn of a session ended, for metrics. */
export interface RanTurn {
  readonly outcome: Outcome['kind'];
  readonly row: AgentSessionRow | null;
}

/** One step of a turn of a session, on this instance: from its place to its end, or until it waits for its client. */
export class SessionStep {
  readonly #row: AgentSessionRow;
  readonly #workspace: Workspace | null;
  readonly #deps: SessionStepDeps;
  readonly #stop = new AbortController();
  readonly #sent = new Set<string>();
  #run: AgentRun | null = null;
  #writer: StepWriter | null = null;
  #items: StepItems | null = null;
  /** Null: it has not begun. */
  #id: string | null = null;
  /** Checks of the session, one after the other. */
  #checking: Promise<void> = Promise.resolve();
  #isChecking = false;

  constructor(row: AgentSessionRow, workspace: Workspace | null, deps: SessionStepDeps) {
    this.#row = row;
    this.#workspace = workspace;
    this.#deps = deps;
  }

  stop(why: StopReason): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(new Stopped(why));
  }

  /** The session was changed: its client may have said something. */
  check(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#checking = this.#checkAfter(this.#checking);
  }

  async #checkAfter(before: Promise<void>): Promise<void> {
    await before;
    this.#isChecking = false;
    await this.#readInput().catch(this.#deps.onError);
  }

  /** Never rejects. */
  async run(): Promise<RanTurn> {
    let outcome: Outcome;
    let end: StepEnd | null = null;
    const startedAt = this.#deps.ambient.clock.now();
    try {
      const ran = await this.#step();
      ({ outcome, end } = ran);
    } catch (error) {
      outcome = this.#failed(error);
    }
    const ranMs = this.#deps.ambient.clock.now() - startedAt;
    await within(this.#checking, CHECK_MS);
    await this.#writer?.flush();
    if (this.#stopped() === 'lost' || outcome.kind === 'lost') return { outcome: 'lost', row: null };
    try {
      const changed = await insistently(() => this.#finish(outcome, end, ranMs), NEVER);
      return { outcome: outcome.kind, row: changed };
    } catch (error) {
      this.#deps.onError(error);
      return { outcome: 'lost', row: null };
    }
  }

  #failed(error: unknown): Outcome {
    const why = this.#stopped();
    if (why !== null) return outcomeOfStop(why);
    if (!(error instanceof GatewayError)) {
      this.#deps.onError(error);
      return {
        kind: 'failed',
        error: { code: 'internal_error', message: 'This server had an error while running the turn.' },
      };
    }
    if ((error.failure.kind as string) === 'workspace_busy') return { kind: 'busy' };
    return { kind: 'failed', error: turnErrorOf(error.failure) };
  }

  #stopped(): StopReason | null {
    const { aborted, reason } = this.#stop.signal;
    return aborted && reason instanceof Stopped ? reason.why : null;
  }

  #finish(outcome: Outcome, end: StepEnd | null, ranMs: number): Promise<AgentSessionRow | null> {
    const { changes } = this.#deps;
    const { owner, id } = this.#row;
    return changes
      .change(owner, id, (draft, row) => {
        if (!this.#isOwn(draft.turn, row)) return undefined;
        if (outcome.kind === 'busy') {
          draft.requeue();
          return true;
        }
        const { turn } = draft;
        if (turn === null) return undefined;
        draft.ran({
          usage: end?.turnEnd?.usage ?? null,
          nextIndex: end?.items.nextIndex ?? turn.nextIndex,
          nextItem: end?.items.nextItem ?? row.nextItem,
          ranMs,
        });
        settle(draft, outcome, end);
        return true;
      })
      .then((changed) => changed?.row ?? null);
  }

  async #step(): Promise<{ readonly outcome: Outcome; readonly end: StepEnd | null }> {
    const { changes, store, bodies, ambient, turnTimeoutMs } = this.#deps;
    const { owner, id } = this.#row;
    const begun = await insistently(
      () =>
        changes.change(owner, id, (draft, row) => {
          if (!this.#isOwn(draft.turn, row)) return undefined;
          draft.start();
          return true;
        }),
      this.#stop.signal,
    );
    const turn = begun?.draft.turn ?? null;
    if (begun === null || turn === null) return { outcome: { kind: 'lost' }, end: null };
    this.#id = turn.step;
    const held = bodies.open(owner, this.#stop.signal, (error) => this.#stop.abort(error));
    const timer = setTimeout(() => this.stop('late'), Math.max(0, turnTimeoutMs - turn.ranMs));
    try {
      const used = new Map(
        turn.calls.flatMap(({ callId, answer }) =>
          answer?.isApproved === true ? [[callId, answer.pos] as const] : [],
        ),
      );
      const history = await readHistory(store, {
        owner,
        sessionId: id,
        used,
        onChars: (chars) => held.grow(chars),
      });
      const writer = this.#openWriter(begun.row, () => items.nextItem);
      const items: StepItems = new StepItems(
        {
          sessionId: id,
          turnId: turn.id,
          nextIndex: turn.nextIndex,
          nextItem: begun.row.nextItem,
          usedIds: history.ids,
          folder: this.#workspace?.path ?? null,
          approvals: history.approvals,
          mintId: (prefix) => ambient.ids.mint(prefix),
          onCommand: this.#deps.onCommand,
        },
        writer,
      );
      this.#items = items;
      const turnEnd = await this.#runStep(turn, history.items, { items, writer, held });
      items.close();
      return this.#ended({ items, turnEnd });
    } finally {
      clearTimeout(timer);
      held.letGo();
    }
  }

  /** Another instance may have ended the turn, and run another one, or what was written may be written again. */
  #isOwn(turn: OpenTurn | null, { phase }: AgentSessionRow): boolean {
    if (phase !== 'running' || turn === null || turn.id !== readState(this.#row).turn?.id) return false;
    return this.#id === null || turn.step === this.#id;
  }

  #openWriter(row: AgentSessionRow, nextItem: () => number): StepWriter {
    const { store, ambient, instance, ttlMs, onError } = this.#deps;
    const writer = new StepWriter({
      store,
      row,
      instance,
      first: row.nextEvent,
      eventsExpireAt: () => ambient.clock.now() + ttlMs,
      nextItem,
      signal: NEVER,
      onLost: (error) => {
        onError(error);
        this.stop('lost');
      },
    });
    this.#writer = writer;
    return writer;
  }

  #runStep(
    turn: OpenTurn,
    history: Awaited<ReturnType<typeof readHistory>>['items'],
    { items, writer, held }: StepParts,
  ): Promise<TurnEnded | null> {
    const { owner, id } = this.#row;
    const needs = this.#workspace !== null && asksApproval(turn.agent);
    return runStep(
      {
        owner,
        sessionId: id,
        turn,
        settings: readSettings(this.#row),
        workspace: this.#workspace,
        items: history,
        needsApproval: (tool) => needs && APPROVED_TOOLS.has(tool),
        approved: turn.calls.flatMap(({ call, requestId, answer }) =>
          answer?.isApproved === true && requestId !== null ? [{ requestId, call }] : [],
        ),
        signal: this.#stop.signal,
        held,
        onRun: (run) => {
          this.#run = run;
          this.check();
        },
        onEvent: async (event) => {
          if (event.type === 'steered') await this.#steered(event, writer);
          else items.add(event);
          await writer.room();
        },
      },
      this.#deps,
    );
  }

  #ended(end: StepEnd): { readonly outcome: Outcome; readonly end: StepEnd } {
    const why = this.#stopped();
    if (why !== null) return { outcome: outcomeOfStop(why), end };
    const ended = end.turnEnd?.outcome;
    if (ended === undefined) return { outcome: { kind: 'failed', error: NO_END }, end };
    if (ended.kind === 'incomplete')
      return { outcome: { kind: 'failed', error: INCOMPLETE_TURNS[ended.reason] }, end };
    if (ended.kind === 'failed') {
      const isBusy = (ended.failure.kind as string) === 'workspace_busy' && this.#run === null;
      const outcome: Outcome = isBusy
        ? { kind: 'busy' }
        : { kind: 'failed', error: turnErrorOf(ended.failure) };
      return { outcome, end };
    }
    return { outcome: { kind: end.items.asked.length > 0 ? 'waits' : 'completed' }, end };
  }

  /** A message has reached the model: it is an item from now on. */
  async #steered({ message }: Extract<AgentEvent, { type: 'steered' }>, writer: StepWriter): Promise<void> {
    const { changes } = this.#deps;
    const { owner, id } = this.#row;
    await writer.flush();
    const changed = await insistently(
      () =>
        changes.change(owner, id, (draft, row) => {
          if (!this.#isOwn(draft.turn, row) || message.id === undefined) return undefined;
          draft.reserve(this.#items?.nextItem ?? 0);
          draft.steered(message.id);
          return true;
        }),
      NEVER,
    );
    if (changed === null) return;
    this.#items?.reserve(changed.row.nextItem);
    writer.changed(changed.row.nextEvent);
  }

  /** Passes on what the client has said since. */
  async #readInput(): Promise<void> {
    const { store } = this.#deps;
    const run = this.#run;
    const row = await store.find(this.#row.owner, this.#row.id);
    if (row === null) {
      this.stop('lost');
      return;
    }
    const { turn } = readState(row);
    if (turn === null || !this.#isOwn(turn, row)) return;
    if (turn.isCancelled) this.stop('cancelled');
    if (run === null || this.#stop.signal.aborted) return;
    for (const { id, content } of turn.input) {
      if (this.#sent.has(id)) continue;
      // If it is too late, the message begins the next turn.
      if (!(await run.steer(steeringMessage(id, messageOf(content))))) return;
      this.#sent.add(id);
    }
  }
}

interface StepParts {
  readonly items: StepItems;
  readonly writer: StepWriter;
  readonly held: ReturnType<BodyBudget['open']>;
}

interface StepEnd {
  readonly items: StepItems;
  readonly turnEnd: TurnEnded | null;
}

const NO_END: TurnError = { code: 'server_error', message: 'The run of this turn has no end.' };

const outcomeOfStop = (why: StopReason): Outcome => {
  if (why === 'cancelled') return { kind: 'cancelled' };
  if (why === 'lost') return { kind: 'lost' };
  return { kind: 'failed', error: why === 'late' ? LONG_TURN : STOPPED_TURN };
};

/** Ends the turn, or has it wait for its client. */
const settle = (draft: SessionDraft, outcome: Outcome, end: StepEnd | null): void => {
  if (outcome.kind === 'cancelled' || draft.turn?.isCancelled === true) {
    draft.end({ status: 'cancelled', error: null });
  } else if (outcome.kind === 'failed') draft.end({ status: 'failed', error: outcome.error });
  else if (outcome.kind === 'waits' && end !== null) draft.wait(end.items.asked);
  else draft.end({ status: 'completed', error: null });
};
