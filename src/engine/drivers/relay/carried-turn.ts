import type { AppServer } from '../../../codex/app-server.ts';
import type { RelayTurns } from '../../../codex/relay/server/relay.ts';
import type { RelayTurnHandle } from '../../../codex/relay/server/held-turns.ts';
import { RelaySource } from '../../../codex/sources/relay-source.ts';
import type { SourceOptions, TurnSource, UpstreamEvent } from '../../../codex/sources/source.ts';
import { injectedOf } from '../../../codex/translate/inject-items.ts';
import { developerInstructionsOf } from '../../../codex/translate/thread-start.ts';
import type { WorkerLease } from '../../../codex/worker/supervisor.ts';
import { yieldToLoop } from '../../../kit/async/event-loop.ts';
import { rpcFailure, recordEarlier, tracedAppServer, tracedListener } from '../../attempt/app-server-turn.ts';
import type { McpTurn } from '../../mcp/mcp-turn.ts';
import type { DrivenTurn, TurnEnd, TurnReport, TurnSignal, AttemptParams } from '../driver.ts';
import { Carrier, type CarrierPlan } from './carrier.ts';
import {
  earlierCalls,
  mcpPlan,
  plainPlan,
  reviewPlan,
  threadStartOf,
  type CarrierPlanDeps,
} from './carrier-plans.ts';
import type { PreStartedTurns } from './pre-started-turns.ts';

export interface CarriedTurnDeps extends CarrierPlanDeps {
  readonly preStarted: PreStartedTurns;
  /** The entry of the model catalogue that codex uses for a model name. */
  readonly slugOf: (name: string) => string;
  readonly relay: RelayTurns;
}

interface StartedCarrier {
  readonly carrier: Carrier;
  /** It was started before this turn was known. */
  readonly isEarlier: boolean;
}

/** A turn whose model request the relay writes, and whose answer the relay reads. A carrier takes it to the backend. */
export class CarriedTurn implements DrivenTurn {
  readonly #deps: CarriedTurnDeps;
  readonly #lease: WorkerLease;
  readonly #appServer: AppServer;
  readonly #params: AttemptParams;
  readonly #slug: string;
  #starting: Promise<StartedCarrier> | null = null;
  #carrier: Carrier | null = null;
  #relayTurn: RelayTurnHandle | null = null;
  /** Whether it is among the pre-started ones, or could have been. */
  #isPlain = false;
  /** Whether the app-server runs tools in it. */
  #hasMcp = false;
  #hasAnswer = false;
  #isEnded = false;

  constructor(deps: CarriedTurnDeps, lease: WorkerLease, params: AttemptParams) {
    this.#deps = deps;
    this.#lease = lease;
    this.#appServer = tracedAppServer(lease.appServer, params.context.trace);
    this.#params = params;
    this.#slug = deps.slugOf(params.draft.strategy.slug);
  }

  get report(): TurnReport | null {
    return this.#relayTurn?.report ?? null;
  }

  async start(mcp: McpTurn | null, receive: (signal: TurnSignal) => void): Promise<string> {
    const { draft, context, approved } = this.#params;
    let { request } = draft;
    this.#hasMcp = mcp !== null;
    const appServer = this.#appServer;
    const prepare = async (threadId: string): Promise<void> => {
      request = (await mcp?.prepare(request, appServer, threadId, approved)) ?? request;
    };
    const identified = this.#deps.relay.sessionOf({ request, context });
    const waiting = context.trace.begin('app-server');
    this.#starting = this.#carrierFor(mcp, prepare);
    const [{ carrier, isEarlier }, session] = await Promise.all([this.#starting, identified]).catch(
      (error: unknown) => {
        waiting.end({ error: rpcFailure(error).code });
        throw error;
      },
    );
    waiting.note({ isPreStarted: isEarlier });
    this.#carrier = carrier;
    if (this.#isEnded) throw new Error('the turn was given up while it was being started');
    const { settings } = this.#deps;
    const { strategy } = draft;
    this.#relayTurn = carrier.claim(
      {
        request,
        context,
        session,
        shape: {
          strategy,
          injected: injectedOf(request, settings, strategy),
          developerInstructions: developerInstructionsOf(request, settings),
          mcp,
        },
        onUpstreamEvent: (signal) => this.#upstream(signal, receive),
        onActivity(kind) {
          if (kind === 'sent') waiting.end();
          receive({ kind: 'activity', of: kind });
        },
      },
      // The signals of the others are recorded already.
      this.#isPlain ? tracedListener(context.trace, carrier.thread.threadId, receive) : receive,
    );
    return carrier.turnId;
  }

  sourceOf(options: SourceOptions): TurnSource {
    const report = this.#relayTurn?.report;
    if (report === undefined) throw new Error('the turn has not been started');
    // Only then nothing can follow the answer: codex runs no tools.
    return new RelaySource({ ...options, report, endsWithAnswer: this.#isPlain });
  }

  begin(): void {
    this.#relayTurn?.begin();
  }

  heard(source: TurnSource): void {
    // codex sends another request for calls that it does not know.
    if (source.isLastAnswer && !this.#isEnded) this.#carrier?.refuseFurtherRequests();
  }

  async end(how: TurnEnd): Promise<void> {
    this.#isEnded = true;
    // At once: the relay is about to pass on what has ended the turn, and the app-server would run a call in it.
    if (this.#hasMcp) this.#relayTurn?.close();
    // The client may have left while it was being started; `start` reports why it could not be.
    const carrier = this.#carrier ?? (await this.#starting?.catch(() => null))?.carrier ?? null;
    // The relay is about to answer the app-server. It must know at once what the app-server is to do next.
    const isKept = this.#isPlain && carrier?.letGo() === true;
    // Only a plain thread is kept for another turn.
    const isComplete = how.isComplete && this.#isPlain;
    const kept = isKept ? carrier : ((await carrier?.end({ ...how, isComplete })) ?? null);
    if (this.#isPlain) this.#deps.preStarted.ended(this.#lease, this.#slug, kept);
  }

  async #carrierFor(
    mcp: McpTurn | null,
    prepare: (threadId: string) => Promise<void>,
  ): Promise<StartedCarrier> {
    const { draft, context } = this.#params;
    const slug = this.#slug;
    const startNow = async (plan: CarrierPlan): Promise<StartedCarrier> => ({
      carrier: await Carrier.start(plan),
      isEarlier: false,
    });
    if (draft.request.isReview === true)
      return startNow(reviewPlan(this.#appServer, slug, draft.request, this.#deps));
    // MCP servers have processes, which are for this turn only.
    if (mcp !== null) return startNow(mcpPlan(this.#appServer, slug, { mcp, prepare }, this.#deps));
    this.#isPlain = true;
    const { preStarted, settings } = this.#deps;
    const taken = await preStarted.take(this.#lease, slug, context.caller.keyId);
    if (taken instanceof Carrier) {
      recordEarlier(context.trace, earlierCalls(taken, settings));
      return { carrier: taken, isEarlier: true };
    }
    if (taken !== null) recordEarlier(context.trace, [threadStartOf(taken, settings)]);
    const plan = plainPlan(this.#appServer, slug, taken, this.#deps);
    // What follows its start may belong to another request.
    return startNow({ ...plan, appServer: this.#lease.appServer });
  }

  #upstream(signal: UpstreamEvent, receive: (signal: TurnSignal) => void): void {
    receive(signal);
    if (signal.kind !== 'answer-started' || this.#hasAnswer) return;
    this.#hasAnswer = true;
    if (this.#isPlain) void this.#prepareNext();
  }

  /** After the first events of this turn have been delivered. */
  async #prepareNext(): Promise<void> {
    await yieldToLoop();
    this.#deps.preStarted.prepare(this.#lease, this.#slug, this.#params.context.caller.keyId);
  }
}
