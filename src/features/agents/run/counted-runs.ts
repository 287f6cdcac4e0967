import type { Outcome } from '../../../canonical/events/turn-event.ts';
import type { Clock } from '../../../kit/ambient.ts';
import type { AgentEvent, AgentRun, AgentRuns } from './port.ts';

/** `cancelled`: the reader has left, or the signal was aborted. */
export type RunOutcome = 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** Counters of runs. A run without a workspace has the name `none`. */
export interface RunCounters {
  readonly clock: Clock;
  readonly onStart: (workspace: string) => void;
  readonly onEnd: (workspace: string, outcome: RunOutcome, seconds: number) => void;
  readonly onCall: (workspace: string, tool: string, outcome: 'completed' | 'failed') => void;
}

/** Counts the runs, and the calls in them. */
export const countedRuns = (runs: AgentRuns, counters: RunCounters): AgentRuns => ({
  async start(request, signal) {
    const run = await runs.start(request, signal);
    const count = new RunCount(request.workspace?.label ?? 'none', counters);
    return {
      events: { [Symbol.asyncIterator]: () => new CountedEvents(run, count, signal) },
      steer: (message) => run.steer(message),
    };
  },
  free: (workspace) => runs.free(workspace),
  whenFree: (listener) => runs.whenFree(listener),
});

class RunCount {
  readonly #workspace: string;
  readonly #counters: RunCounters;
  readonly #startedAt: number;
  #isEnded = false;

  constructor(workspace: string, counters: RunCounters) {
    this.#workspace = workspace;
    this.#counters = counters;
    this.#startedAt = counters.clock.now();
    counters.onStart(workspace);
  }

  see(event: AgentEvent): void {
    if (event.type === 'turn-ended') this.end(outcomeOf(event.outcome));
    if (event.type !== 'item-ended' || event.item.kind !== 'hosted-call') return;
    const { modelCallId, raw } = event.item;
    const { name, status } = raw;
    if (modelCallId === undefined || typeof name !== 'string') return;
    this.#counters.onCall(this.#workspace, name, status === 'failed' ? 'failed' : 'completed');
  }

  end(outcome: RunOutcome): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { clock, onEnd } = this.#counters;
    onEnd(this.#workspace, outcome, (clock.now() - this.#startedAt) / 1000);
  }
}

const outcomeOf = ({ kind }: Outcome): RunOutcome => (kind === 'tool-calls' ? 'completed' : kind);

/** Not a generator: one that was never read would not know its end. */
class CountedEvents implements AsyncIterator<AgentEvent> {
  readonly #events: AsyncIterator<AgentEvent>;
  readonly #count: RunCount;
  readonly #signal: AbortSignal;

  constructor({ events }: AgentRun, count: RunCount, signal: AbortSignal) {
    this.#events = events[Symbol.asyncIterator]();
    this.#count = count;
    this.#signal = signal;
  }

  async next(): Promise<IteratorResult<AgentEvent>> {
    try {
      const step = await this.#events.next();
      if (step.done === true) this.#count.end('failed');
      else this.#count.see(step.value);
      return step;
    } catch (error) {
      this.#count.end(this.#signal.aborted ? 'cancelled' : 'failed');
      throw error;
    }
  }

  async return(): Promise<IteratorResult<AgentEvent>> {
    try {
      await this.#events.return?.();
    } finally {
      this.#count.end('cancelled');
    }
    return { done: true, value: undefined };
  }
}
