import type { OpenSpan } from '../../../canonical/context/trace.ts';
import { failureOf } from '../../../canonical/failure/failure.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { textIn } from '../../../kit/json/json.ts';
import type { AgentEvent, AgentRunRequest, AgentRuns } from './port.ts';

/** How a run ended. `waiting`: calls wait for an approval, or for the client. */
export type RunEndName = 'completed' | 'waiting' | 'incomplete' | 'failed' | 'cancelled';

/** Counts what happens in workspaces. All names are those of the configuration, or of a fixed list. */
export interface RunReports {
  readonly onInside: (workspace: string, inside: number) => void;
  readonly onRun: (workspace: string, outcome: RunEndName, seconds: number) => void;
  readonly onCall: (workspace: string, tool: string, outcome: 'completed' | 'failed') => void;
  readonly onApproval: (workspace: string, decision: 'asked' | 'approved', count: number) => void;
}

interface MeasureDeps {
  readonly clock: Clock;
  readonly reports: RunReports;
}

const BUSY = 'workspace_busy';

/** Counts and measures the runs in workspaces: each is a part of its request, and its calls are parts of it. */
export const measuredRuns = (runs: AgentRuns, deps: MeasureDeps): AgentRuns => ({
  async start(request, signal) {
    if (request.workspace === null) return runs.start(request, signal);
    const measure = new RunMeasure(request.workspace.label, request, deps);
    const context = { ...request.context, trace: measure.span };
    try {
      const run = await runs.start({ ...request, context }, signal);
      measure.begun();
      return { steer: (message) => run.steer(message), events: measure.watch(run.events, signal) };
    } catch (error) {
      measure.refused(error, signal);
      throw error;
    }
  },
  free: (workspace) => runs.free(workspace),
  whenFree: (listener) => runs.whenFree(listener),
});

class RunMeasure {
  readonly span: OpenSpan;
  readonly #label: string;
  readonly #approved: number;
  readonly #clock: Clock;
  readonly #reports: RunReports;
  readonly #startedAt: number;
  #calls = 0;
  #asked = 0;
  #end: RunEndName | null = null;
  #isOver = false;

  constructor(label: string, { context, approved }: AgentRunRequest, { clock, reports }: MeasureDeps) {
    this.#label = label;
    this.#approved = approved.length;
    this.#clock = clock;
    this.#reports = reports;
    this.#startedAt = clock.now();
    this.span = context.trace.begin('run', { workspace: label });
  }

  begun(): void {
    if (this.#approved > 0) this.#reports.onApproval(this.#label, 'approved', this.#approved);
  }

  /** A run for which there was no place is not counted. */
  refused(error: unknown, signal: AbortSignal): void {
    const { code } = failureOf(error);
    this.span.end({ error: code });
    if (code !== BUSY) this.#count(signal.aborted ? 'cancelled' : 'failed');
  }

  /** Passes everything on at once, also when the reader leaves. */
  watch(events: AsyncIterable<AgentEvent>, signal: AbortSignal): AsyncIterable<AgentEvent> {
    return {
      [Symbol.asyncIterator]: () => {
        const inner = events[Symbol.asyncIterator]();
        return {
          next: async () => {
            try {
              const step = await inner.next();
              if (step.done === true) this.#over('failed');
              else this.#see(step.value);
              return step;
            } catch (error) {
              this.#over(signal.aborted ? 'cancelled' : 'failed');
              throw error;
            }
          },
          return: async () => {
            await inner.return?.();
            this.#over('cancelled');
            return { done: true, value: undefined };
          },
        };
      },
    };
  }

  /** `otherwise`: how it ended, if the run has not said so. */
  #over(otherwise: RunEndName): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const end = this.#end ?? otherwise;
    this.span.end({ calls: this.#calls, waits: this.#asked > 0, end });
    if (this.#asked > 0) this.#reports.onApproval(this.#label, 'asked', this.#asked);
    this.#count(end);
  }

  #see(event: AgentEvent): void {
    if (event.type === 'turn-ended') {
      const { kind } = event.outcome;
      const isWaiting = kind === 'tool-calls' || (kind === 'completed' && this.#asked > 0);
      this.#end = isWaiting ? 'waiting' : kind;
    }
    if (event.type !== 'item-ended') return;
    const { item } = event;
    if (item.kind === 'opaque' && item.raw.type === 'mcp_approval_request') this.#asked += 1;
    if (item.kind !== 'hosted-call' || textIn(item.raw, 'server_label') !== this.#label) return;
    this.#calls += 1;
    const outcome = textIn(item.raw, 'status') === 'completed' ? 'completed' : 'failed';
    this.#reports.onCall(this.#label, textIn(item.raw, 'name'), outcome);
  }

  #count(end: RunEndName): void {
    this.#reports.onRun(this.#label, end, (this.#clock.now() - this.#startedAt) / 1000);
  }
}
