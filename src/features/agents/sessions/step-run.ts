import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { Item, Message } from '../../../canonical/request/item.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { NO_TRACE } from '../../../canonical/context/trace.ts';
import { failureOf } from '../../../canonical/failure/failure.ts';
import type { Engine } from '../../../engine/engine.ts';
import { openTrace } from '../../../http/exchange/trace-request.ts';
import { summaryOf, type TurnDeps } from '../../../http/turn/start-turn.ts';
import { firstAborted, within } from '../../../kit/async/wait.ts';
import { requestEnd, type RequestEnd, type RequestNotes } from '../../../observe/request-end.ts';
import type { RequestObserver, RequestWatch } from '../../../observe/request-observer.ts';
import { requestsOf, type Api } from '../../../turns/api.ts';
import type { HeldBytes } from '../../../turns/body-budget.ts';
import { prepareRun } from '../../../turns/start-run.ts';
import {
  isTurnEvent,
  type AgentEvent,
  type AgentRun,
  type AgentRunRequest,
  type AgentRuns,
} from '../run/port.ts';
import type { OpenTurn, SessionSettings } from './session-state.ts';
import { STEP_STATE, stepApi, stepRequest } from './step-request.ts';

/** What steps of turns need. */
export interface StepDeps {
  readonly runs: AgentRuns;
  readonly engine: () => Engine;
  readonly turns: () => TurnDeps;
  readonly observer: () => RequestObserver;
  readonly responses: Api;
  readonly onEnded: (end: RequestEnd) => void;
  readonly onBug: (error: unknown, requestId: string) => void;
}

export interface AskedStep {
  readonly owner: string;
  readonly sessionId: string;
  readonly turn: OpenTurn;
  readonly settings: SessionSettings;
  readonly workspace: Workspace | null;
  readonly items: readonly Item[];
  readonly needsApproval: AgentRunRequest['needsApproval'];
  readonly approved: AgentRunRequest['approved'];
  /** Aborted: the run ends. */
  readonly signal: AbortSignal;
  readonly held: HeldBytes;
  readonly onRun: (run: AgentRun) => void;
  /** Called with each event of the run, one after the other. */
  readonly onEvent: (event: AgentEvent) => Promise<void>;
}

/** The route of steps in the request log. */
const ROUTE = '/v1/agents/sessions/:id/events';
/** For the clean-up of a run that was aborted. */
const CLEAN_UP_MS = 60_000;
const LEFT = new Error('no one reads the run any more');

/**
 * Runs one step of a turn on the path of all requests, so that limits, admission, usage and the request log count it once.
 * Resolves with its end when nothing of it runs any more. Rejects if it could not be prepared.
 */
export const runStep = async (step: AskedStep, deps: StepDeps): Promise<TurnEnded | null> => {
  const turns = deps.turns();
  const { clock, ids } = turns.ambient;
  const startedAt = clock.now();
  const requestId = ids.mint('req');
  const trace = openTrace({ startedAt, distributed: null }, NO_TRACE, turns);
  const relay = new RunRelay(step, deps);
  let last: TurnEnded | null = null;
  const api = stepApi(ROUTE, deps.responses, (end) => (last = end));
  const models = await turns.models.names();
  const parsed = stepRequest(deps.responses, step.turn.agent, step.items, { models, ambient: turns.ambient });
  let notes: RequestNotes = {
    keyId: step.owner,
    model: parsed.model,
    stream: true,
    client: parsed.client,
    answerId: step.turn.id,
    request: summaryOf(requestsOf(parsed), step.held.bytes),
  };
  let watch: RequestWatch | null = null;
  const request = {
    requestId,
    method: 'POST',
    route: ROUTE,
    startedAt,
    backgroundId: step.turn.id,
    traceContext: null,
  };
  watch = deps.observer().open(request);
  watch?.note?.(notes);
  const over = (): void => {
    const end = requestEnd(
      request,
      { status: 200, ...notes, spans: trace.finish() },
      clock.now() - startedAt,
    );
    deps.onEnded(end);
    watch?.end?.(end);
  };
  try {
    const prepared = await prepareRun(
      api,
      parsed,
      {
        requestId,
        startedAt,
        caller: step.owner,
        session: step.sessionId,
        traceContext: null,
        trace,
        held: step.held,
        state: STEP_STATE,
        signal: step.signal,
        note(more) {
          notes = { ...notes, ...more };
          watch?.note?.(more);
        },
      },
      { ...turns.runs, engine: relay.engine },
    );
    try {
      for await (const _ of prepared.detach().events());
    } catch (error) {
      if (!step.signal.aborted) deps.onBug(error, requestId);
    }
    await within(relay.ended(), CLEAN_UP_MS);
    return relay.end ?? last;
  } catch (error) {
    if (!step.signal.aborted) {
      const failed = failureOf(error);
      notes = { ...notes, status: failed.status, failure: failed };
    }
    throw error;
  } finally {
    over();
  }
};

/** Runs an agent once, tells the session about all of its events, and passes those of a turn on. */
class RunRelay {
  readonly #step: AskedStep;
  readonly #deps: StepDeps;
  readonly #left = new AbortController();
  /** From the start of the run to its last event. */
  #work: Promise<void> | null = null;
  /** As the run reported it. */
  end: TurnEnded | null = null;

  constructor(step: AskedStep, deps: StepDeps) {
    this.#step = step;
    this.#deps = deps;
  }

  readonly engine: Engine = {
    plan: (request, context) => {
      const inner = this.#deps.engine().plan(request, context);
      return {
        ignored: [],
        refused: [],
        ...(inner.takesImageUrls === undefined ? {} : { takesImageUrls: inner.takesImageUrls }),
        effort: request.reasoning.effort,
        isCurrent: () => true,
        run: (signal) => this.#run(request, context, signal),
      };
    },
  };

  /** Resolves when the run has ended. */
  async ended(): Promise<void> {
    this.#left.abort(LEFT);
    await this.#work;
  }

  async *#run(request: TurnRequest, context: TurnContext, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    // Calls of tools must not run twice.
    if (this.#work !== null) throw new Error('a step of a turn can run only once');
    const line = new EventLine();
    this.#work = this.#start(request, context, firstAborted(signal, this.#left.signal)).then(
      (run) => this.#read(run, line),
      (error: unknown) => line.finish({ error }),
    );
    try {
      yield* line.events();
    } finally {
      line.close();
    }
  }

  async #start(request: TurnRequest, context: TurnContext, signal: AbortSignal): Promise<AgentRun> {
    const { settings, workspace, needsApproval, approved, onRun } = this.#step;
    const run = await this.#deps.runs.start(
      {
        workspace,
        access: settings.access ?? workspace?.access ?? 'read',
        request,
        context,
        engine: this.#deps.engine(),
        tools: null,
        needsApproval,
        approved,
        maxCalls: request.maxToolCalls,
      },
      signal,
    );
    onRun(run);
    return run;
  }

  async #read(run: AgentRun, line: EventLine): Promise<void> {
    try {
      for await (const event of run.events) {
        if (event.type === 'turn-ended') this.end = event;
        await this.#step.onEvent(event);
        if (isTurnEvent(event)) await line.add(event);
      }
      line.finish(null);
    } catch (error) {
      line.finish({ error });
    }
  }
}

/** Events that wait for their reader. */
const MAX_WAITING = 1_024;

/** Passes events on. The one who adds them waits for the reader, who may leave. */
class EventLine {
  #events: TurnEvent[] = [];
  #isClosed = false;
  #finished: { readonly failed: { readonly error: unknown } | null } | null = null;
  #changed = Promise.withResolvers<void>();

  async add(event: TurnEvent): Promise<void> {
    if (this.#isClosed) return;
    this.#events.push(event);
    this.#change();
    while (this.#events.length > MAX_WAITING && !this.#isClosed) await this.#changed.promise;
  }

  finish(failed: { readonly error: unknown } | null): void {
    this.#finished = { failed };
    this.#change();
  }

  close(): void {
    this.#isClosed = true;
    this.#events = [];
    this.#change();
  }

  async *events(): AsyncGenerator<TurnEvent> {
    for (;;) {
      const events = this.#events;
      this.#events = [];
      if (events.length > 0) {
        this.#change();
        yield* events;
      } else if (this.#finished === null) await this.#changed.promise;
      else if (this.#finished.failed === null) return;
      else throw this.#finished.failed.error;
    }
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** A message of the user for a run. */
export const steeringMessage = (id: string, message: Item): Message => ({ ...(message as Message), id });
