import type { ModelBudget } from '../canonical/context/model-budget.ts';
import type { Trace, TraceContext } from '../canonical/context/trace.ts';
import type { Engine } from '../engine/engine.ts';
import type { RepairLimits } from '../engine/steps/repair-calls.ts';
import type { TokenCounter } from '../engine/count-tokens.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { TurnObserver } from '../observe/observer.ts';
import type { RequestNotes } from '../observe/request-end.ts';
import type { Admission } from './admission.ts';
import type { ParsedRequest } from './api.ts';
import type { FetchImage } from './attachments/fetch-image.ts';
import type { HeldBytes } from './body-budget.ts';
import type { FormatChecks } from './format/check-format.ts';
import type { RunningResponses } from './running-responses.ts';
import type { SideTurns } from './side-turns.ts';
import type { TurnGate } from './turn-gate.ts';
import type { TurnState } from './turn-state.ts';

/** What every run needs. */
export interface RunDeps {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly gate: TurnGate;
  readonly running: RunningResponses;
  readonly ambient: Ambient;
  readonly tokens: TokenCounter;
  readonly formats: FormatChecks;
  readonly images: ImageSource;
  readonly rules: AnswerRules;
  readonly reports: RunReports;
}

/** Where the images of a request come from. */
export interface ImageSource {
  readonly fetch: FetchImage;
  /** Whether images by URL are left to a backend that fetches them itself. */
  readonly passesUrls: boolean;
}

/** What the configuration says about every answer. */
export interface AnswerRules {
  readonly repair: RepairLimits;
  /** Opens the budget of an answer. */
  readonly openBudget: (call: RunCall, trace: Trace) => ModelBudget;
  readonly sideTurns: SideTurns;
  /** How long a stream waits for the first event before its head is sent. */
  readonly keepaliveMs: number;
  readonly strictParams: boolean;
}

/** Called about what a run does. */
export interface RunReports {
  readonly observersOf: (parsed: ParsedRequest, call: RunCall) => readonly TurnObserver[];
  readonly onObserverError: (error: unknown) => void;
  /** Called with the parameters of a request that had no effect. */
  readonly onIgnored: (names: readonly string[]) => void;
  readonly onBug: OnBug;
  readonly onFormatMismatch: (call: RunCall) => void;
}

/** Called with an unexpected error; the client sees only that the turn failed. */
export type OnBug = (error: unknown, request: { readonly requestId: string }) => void;

/** Who started a run, and what it takes over from them. */
/** A request in the log, as far as its parts need it. */
export interface NotedRequest {
  readonly requestId: string;
  /** Adds to what is known about the request. */
  readonly note: (notes: RequestNotes) => void;
}

export interface RunCall extends NotedRequest {
  /** By the ambient clock. */
  readonly startedAt: number;
  /** The id of the client's key. */
  readonly caller: string;
  /** The conversation that the client named in its headers. */
  readonly session: string | null;
  readonly traceContext: TraceContext | null;
  readonly trace: Trace;
  /** The bytes of the body: the run lets them go when it ends. */
  readonly held: HeldBytes;
  /** What the request continues, and where its answer is kept: the run releases it when it ends. */
  readonly state: TurnState;
  /** Cancels the run when aborted: a foreground run ends with its HTTP exchange. Null: only `cancel` does. */
  readonly signal: AbortSignal | null;
  /** The backend has accepted the turns. Must not throw. */
  readonly onAccepted?: () => Promise<void>;
  /** See `TurnContext`. */
  readonly isSteered?: () => boolean;
}
