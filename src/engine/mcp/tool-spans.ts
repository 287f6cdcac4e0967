import type { OpenSpan, SpanFacts, Trace } from '../../canonical/context/trace.ts';
import { isModelCall, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { RawItem } from '../../canonical/request/item.ts';

/** Measures the calls of MCP servers in a turn, from the model's call to the result. */
export class ToolSpans {
  readonly #trace: Trace;
  readonly #open = new Map<string, OpenSpan>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  see(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type !== 'item-started' && event.type !== 'item-ended') continue;
      const { item } = event;
      if (item.kind !== 'hosted-call') continue;
      if (isModelCall(event)) this.#open.set(item.id, this.#trace.begin('tool', toolFacts(item.raw)));
      else if (event.type === 'item-ended') {
        this.#open.get(item.id)?.end({ status: textOf(item.raw['status']) });
        this.#open.delete(item.id);
      }
    }
  }
}

/** The names of a tool and its server: never what it was called with. */
export const toolFacts = ({ server_label: server, name }: Pick<RawItem, string>): SpanFacts => ({
  server: textOf(server),
  tool: textOf(name),
});

const MAX_NAME = 200;

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, MAX_NAME) : null;
