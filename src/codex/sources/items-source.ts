import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { mcpToolCall } from '../protocol/methods.ts';
import type { SourceOptions, SourceSignal, TurnSource } from './source.ts';
import { TurnItems } from './turn-items.ts';

/** What both sources share: the items of the turn, its usage, and how far the newest answer is. */
export abstract class ItemsSource<Options extends SourceOptions> implements TurnSource {
  protected readonly options: Options;
  protected readonly items: TurnItems;
  /** The newest answer is complete, and no part of another one has arrived. */
  protected isAnswered = false;
  protected usage: Usage | null = null;

  constructor(options: Options) {
    this.options = options;
    this.items = new TurnItems(options);
  }

  get ended(): boolean {
    return this.items.ended;
  }

  get answer(): readonly Produced[] {
    return this.items.answer;
  }

  get isLastAnswer(): boolean {
    return this.isAnswered && this.endsWithCalls;
  }

  get endsWithCalls(): boolean {
    return this.items.lastOutcome !== null;
  }

  get runsTools(): boolean {
    return this.items.isRunning;
  }

  abstract take(signal: SourceSignal): TurnEvent[];

  end(outcome: Outcome): TurnEvent[] {
    const events: TurnEvent[] = [];
    if (!this.ended) this.endTurn(outcome, events);
    return events;
  }

  protected abstract endTurn(outcome: Outcome, events: TurnEvent[]): void;

  protected toolCompleted(params: Parameters<typeof mcpToolCall>[0], events: TurnEvent[]): void {
    const call = mcpToolCall(params);
    if (call !== null) this.items.toolEnded(call.id, call, events);
    this.endIfLast(events);
  }

  /** The client's calls end the turn, after all tools that the app-server runs have ended. */
  protected endIfLast(events: TurnEvent[]): void {
    const { lastOutcome, isRunning } = this.items;
    if (!this.isAnswered || lastOutcome === null || isRunning) return;
    this.items.end(lastOutcome, this.usage, events);
  }
}
