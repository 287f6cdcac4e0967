import { failure, GatewayError, type Failure } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { ThreadSignal } from '../codex/app-server.ts';
import { isKnownNotification, type ParamsOf } from '../codex/protocol/methods.ts';
import type { Relay, RelayTicket } from '../codex/relay/relay.ts';
import { injectedOf, toInjectItems } from '../codex/translate/inject-items.ts';
import type { Approach } from '../codex/translate/approach.ts';
import { fitEffort } from '../codex/translate/fit-effort.ts';
import {
  fitHistory,
  withoutReasoning,
  type FittedHistory,
  type HistoryRules,
} from '../codex/translate/fit-history.ts';
import {
  callableTools,
  developerInstructionsOf,
  toThreadStart,
  type ThreadSettings,
} from '../codex/translate/thread-start.ts';
import { TurnTranslator, type Oddity } from '../codex/translate/turn-events.ts';
import { toTurnStart } from '../codex/translate/turn-start.ts';
import type { WireEvent } from '../codex/translate/wire-report.ts';
import type { Lease, WorkerPool } from '../codex/worker/supervisor.ts';
import { unlessAborted } from '../kit/abort.ts';
import type { IdSource } from '../kit/ambient.ts';
import { isJsonObject } from '../kit/json.ts';
import type { Approaches } from './approaches.ts';
import type { Engine } from './engine.ts';
import { Mailbox } from './mailbox.ts';
import { rpcFailure } from './rpc-failure.ts';
import type { SpareThreads } from './spare-threads.ts';

export interface EngineDeps {
  readonly workers: WorkerPool;
  /** Null: the app-server talks to its backend directly. */
  readonly relay: Relay | null;
  readonly spares: SpareThreads;
  readonly approaches: Approaches;
  readonly settings: ThreadSettings;
  /** What the backend takes of a history. */
  readonly historyRules: HistoryRules;
  /** The efforts of a model, where its backend refuses others; null: not known. */
  readonly effortsOf: (model: string) => readonly string[] | null;
  readonly ids: IdSource;
  readonly onOddity: (oddity: Oddity) => void;
  /** A turn failed before it said anything, and in no other way either. */
  readonly onRefused: (failed: Failure) => void;
}

/** A turn whose worker died before anything was said is run again, this often in all. */
const ATTEMPTS = 3;
/** More unread text than this means that nobody is reading. */
const MAILBOX_MAX_BYTES = 32 * 1024 * 1024;

export const createEngine = (deps: EngineDeps): Engine => ({
  unheard(request) {
    const approach = deps.approaches.first(request);
    return [
      ...(deps.relay?.unheard(request) ?? unheard(request)),
      ...deps.approaches.losses(request, approach),
      ...fittedFor(request, approach, deps).ignored,
    ];
  },
  async *run(request, signal) {
    const tried = [deps.approaches.first(request)];
    for (let losses = 0; ;) {
      const approach = tried.at(-1) ?? deps.approaches.first(request);
      const { ignored, ...fitted } = fittedFor(request, approach, deps);
      const lease = await deps.workers.lease(signal);
      const turn = new Turn(deps, lease, {
        request: { ...request, ...fitted },
        approach,
        leftOut: ignored,
        signal,
        mayRetry: losses + 1 < ATTEMPTS,
      });
      try {
        for await (const event of turn.events()) {
          if (event.type === 'turn-accepted') deps.approaches.worked(request, tried);
          yield event;
        }
        return;
      } catch (error) {
        if (error instanceof WorkerLostEarly) losses += 1;
        else if (!(error instanceof RefusedEarly)) throw error;
        else {
          const next = deps.approaches.next(request, tried, error.refusal.outcome.failure);
          if (next === null) {
            deps.onRefused(error.refusal.outcome.failure);
            yield error.refusal;
            return;
          }
          tried.push(next);
        }
      } finally {
        turn.letGo();
      }
    }
  },
});

/** What the relay sees, in the same queue as what the app-server says. */
interface WireSignal {
  readonly kind: 'wire';
  readonly event: WireEvent;
}

/** The worker died and the client has seen nothing yet: another one may try. */
class WorkerLostEarly extends Error {}

type FailedTurn = Extract<TurnEvent, { type: 'turn-ended' }> & {
  readonly outcome: { readonly kind: 'failed'; readonly failure: Failure };
};

/** The turn failed and the client has seen nothing yet: it may be put in another way. */
class RefusedEarly extends Error {
  readonly refusal: FailedTurn;

  constructor(refusal: FailedTurn) {
    super('refused');
    this.refusal = refusal;
  }
}

/** What of a request its backend takes this time, and the caller's names of what it does not. */
const fittedFor = (
  request: TurnRequest,
  approach: Approach,
  { historyRules, effortsOf }: EngineDeps,
): FittedHistory & Pick<TurnRequest, 'reasoning'> => {
  const rest = approach.reasoning === 'kept' ? null : withoutReasoning(request);
  const fitted = fitHistory(rest ?? request, historyRules);
  const { reasoning } = request;
  const effort = fitEffort(reasoning.effort, effortsOf(request.model));
  const ignored = [
    ...(rest?.ignored ?? []),
    ...fitted.ignored,
    ...(effort === reasoning.effort ? [] : [reasoning.effortName]),
  ];
  return { ...fitted, reasoning: { ...reasoning, effort }, ignored };
};

interface Attempt {
  readonly request: TurnRequest;
  readonly approach: Approach;
  /** Places of items that the backend would not take. */
  readonly leftOut: readonly string[];
  readonly signal: AbortSignal;
  /** Whether there is another attempt if the worker dies. */
  readonly mayRetry: boolean;
}

/** One attempt at a turn on one worker: a fresh thread, the whole history, one model answer. */
class Turn {
  readonly #deps: EngineDeps;
  readonly #lease: Lease;
  readonly #request: TurnRequest;
  readonly #approach: Approach;
  readonly #leftOut: readonly string[];
  readonly #mayRetry: boolean;
  readonly #signal: AbortSignal;
  readonly #mailbox = new Mailbox(MAILBOX_MAX_BYTES);
  readonly #callable: ReadonlySet<string>;
  /** What arrives before the turn's id is known. */
  #early: (ThreadSignal | WireSignal)[] | null = [];
  #translator: TurnTranslator | null = null;
  #threadId: string | null = null;
  #running: { readonly threadId: string; readonly turnId: string } | null = null;
  #unwatch: () => void = () => {};
  #ticket: RelayTicket | null = null;
  /** What the turn's thread was started with. */
  #kind: ParamsOf<'thread/start'> | null = null;
  #isLetGo = false;

  constructor(deps: EngineDeps, lease: Lease, { request, approach, leftOut, signal, mayRetry }: Attempt) {
    this.#deps = deps;
    this.#lease = lease;
    this.#request = request;
    this.#approach = approach;
    this.#leftOut = leftOut;
    this.#mayRetry = mayRetry;
    this.#signal = signal;
    this.#callable = new Set(callableTools(request).map((tool) => tool.name));
  }

  async *events(): AsyncGenerator<TurnEvent> {
    const stop = (): void => {
      this.#mailbox.close();
      // A turn that is only being started is let go when its start has come to an end.
      if (this.#translator !== null) this.letGo();
    };
    this.#signal.addEventListener('abort', stop, { once: true });
    try {
      await this.#start();
      let isFirst = true;
      for await (const event of this.#mailbox) {
        if (isFirst) {
          if (isFailed(event)) {
            if (event.outcome.failure.kind !== 'worker_lost') throw new RefusedEarly(event);
            if (this.#mayRetry) throw new WorkerLostEarly();
          } else yield this.#accepted();
          isFirst = false;
        }
        yield event;
      }
      this.#signal.throwIfAborted();
    } finally {
      this.#signal.removeEventListener('abort', stop);
    }
  }

  /**
   * Ends what may still run upstream, without making the client wait for it. Called as soon as the
   * turn has ended, because a reader may take its time, and again when the reader is done.
   */
  letGo(): void {
    if (this.#isLetGo) return;
    this.#isLetGo = true;
    this.#unwatch();
    this.#ticket?.close();
    this.#close();
    if (this.#kind !== null) void this.#deps.spares.prepare(this.#lease, this.#kind);
  }

  /**
   * Ends the turn, if it runs, closes its thread, and gives the worker back. A turn that waits for a
   * tool call would keep its thread for ever, so it is interrupted first.
   */
  #close(): void {
    const { appServer } = this.#lease;
    const ends = [
      ...(this.#running === null ? [] : [appServer.request('turn/interrupt', this.#running)]),
      ...(this.#threadId === null
        ? []
        : [appServer.request('thread/unsubscribe', { threadId: this.#threadId })]),
    ];
    void Promise.allSettled(ends).then(() => this.#lease.release());
  }

  async #start(): Promise<void> {
    const { appServer } = this.#lease;
    const { settings } = this.#deps;
    try {
      this.#signal.throwIfAborted();
      const start = toThreadStart(this.#request, settings, this.#approach);
      const spare = this.#deps.spares.take(this.#lease, start);
      this.#threadId = spare;
      const threadId = spare ?? (await unlessAborted(this.#startThread(start), this.#signal));
      this.#kind = start;
      this.#unwatch = appServer.watchThread(threadId, (signal) => this.#receive(signal));
      const injected = injectedOf(this.#request, settings, this.#approach);
      this.#ticket =
        this.#deps.relay?.open(threadId, {
          request: this.#request,
          shape: {
            approach: this.#approach,
            injected,
            developerInstructions: developerInstructionsOf(this.#request, settings),
          },
          onEvent: (event) => this.#receive({ kind: 'wire', event }),
        }) ?? null;
      const items = toInjectItems(injected, this.#ticket === null ? 'own' : 'places');
      if (items.length > 0) {
        const injecting = appServer.request('thread/inject_items', { threadId, items });
        await unlessAborted(injecting, this.#signal);
      }
      const starting = appServer
        .request('turn/start', toTurnStart(this.#request, threadId))
        .then(({ turn }) => {
          this.#running = { threadId, turnId: turn.id };
          // The client went while the turn was being started: nobody else will end it.
          if (this.#isLetGo) this.#close();
          return turn.id;
        });
      this.#begin(await unlessAborted(starting, this.#signal));
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failed = rpcFailure(error);
      if (failed.kind === 'worker_lost' && this.#mayRetry) throw new WorkerLostEarly();
      throw new GatewayError(failed, { cause: error });
    }
  }

  async #startThread(start: ParamsOf<'thread/start'>): Promise<string> {
    const { thread } = await this.#lease.appServer.request('thread/start', start);
    this.#threadId = thread.id;
    // The client went while the thread was being started: nobody else will close it.
    if (this.#isLetGo) this.#close();
    return thread.id;
  }

  #begin(turnId: string): void {
    this.#translator = new TurnTranslator({
      turnId,
      callable: this.#callable,
      parallelToolCalls: this.#request.parallelToolCalls !== false,
      ids: this.#deps.ids,
      report: this.#ticket?.report ?? null,
      onOddity: this.#deps.onOddity,
    });
    const early = this.#early ?? [];
    this.#early = null;
    for (const signal of early) this.#receive(signal);
  }

  #receive(signal: ThreadSignal | WireSignal): void {
    if (this.#translator === null) {
      this.#early?.push(signal);
      return;
    }
    switch (signal.kind) {
      case 'closed':
        this.#running = null;
        this.#threadId = null;
        this.#deliver(this.#translator.end({ kind: 'failed', failure: failure('worker_lost') }));
        return;
      case 'request':
        this.#answer(signal);
        return;
      case 'wire':
        this.#deliver(this.#translator.wire(signal.event));
        return;
      case 'notification':
        if (signal.method === 'turn/completed') this.#running = null;
        if (isKnownNotification(signal)) this.#deliver(this.#translator.next(signal));
    }
  }

  /**
   * The client's tools run at the client: their call is in the answer already, and the turn is
   * interrupted when the answer ends. A call that the client ruled out is answered as codex answers
   * calls that it does not know; nothing else may be asked of us.
   */
  #answer(request: Extract<ThreadSignal, { kind: 'request' }>): void {
    if (request.method !== 'item/tool/call') {
      request.reject('not supported');
      return;
    }
    const tool = isJsonObject(request.params) ? request.params['tool'] : null;
    if (typeof tool === 'string' && this.#callable.has(tool)) return;
    request.respond({
      contentItems: [{ type: 'inputText', text: `unsupported call: ${JSON.stringify(tool)}` }],
      success: false,
    });
  }

  #accepted(): TurnEvent {
    const report = this.#ticket?.report ?? null;
    const lost = [...this.#leftOut, ...this.#deps.approaches.losses(this.#request, this.#approach)];
    if (report === null) {
      const ignored = [...unheard(this.#request), ...lost];
      return { type: 'turn-accepted', ignored, limitsOutput: false, headers: {} };
    }
    const { ignored, limitsOutput, headers } = report;
    return { type: 'turn-accepted', ignored: [...ignored, ...lost], limitsOutput, headers };
  }

  #deliver(events: readonly TurnEvent[]): void {
    if (events.length === 0) return;
    const hasRoom = this.#mailbox.push(events);
    if (!hasRoom && this.#translator?.ended === false) {
      this.#mailbox.push(this.#translator.end({ kind: 'failed', failure: failure('client_too_slow') }));
    }
    if (this.#translator?.ended === true) {
      this.#mailbox.close();
      this.letGo();
    }
  }
}

const isFailed = (event: TurnEvent): event is FailedTurn =>
  event.type === 'turn-ended' && event.outcome.kind === 'failed';

/** Nothing stands between the app-server and its backend that could say these things. */
const unheard = (request: TurnRequest): string[] =>
  request.wire.filter((param) => param.matters).map((param) => param.name);
