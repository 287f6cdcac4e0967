import { assertNever } from '../kit/assert-never.ts';
import type { TurnEvent } from './turn-event.ts';

type Open =
  | {
      readonly kind: 'message';
      readonly started: Extract<TurnEvent, { type: 'message-started' }>;
      text: string;
      refusal: string | null;
    }
  | {
      readonly kind: 'reasoning';
      readonly itemId: string;
      readonly summary: string[];
      readonly content: string[];
    }
  | { readonly kind: 'call'; readonly started: Extract<TurnEvent, { type: 'call-started' }>; text: string };

/**
 * Follows a stream of events and knows which items are open, and what they hold so far. Whoever ends
 * a turn early (a failure, a limit, a lost worker) uses it to end them too, as the grammar demands.
 */
export class OpenItems {
  readonly #open = new Map<string, Open>();

  follow(event: TurnEvent): void {
    switch (event.type) {
      case 'message-started':
        this.#open.set(event.itemId, { kind: 'message', started: event, text: '', refusal: null });
        return;
      case 'call-started':
        this.#open.set(event.itemId, { kind: 'call', started: event, text: '' });
        return;
      case 'reasoning-started':
        this.#open.set(event.itemId, { kind: 'reasoning', itemId: event.itemId, summary: [], content: [] });
        return;
      case 'text-delta':
      case 'call-delta': {
        const item = this.#open.get(event.itemId);
        if (item !== undefined && item.kind !== 'reasoning') item.text += event.delta;
        return;
      }
      case 'refusal-delta': {
        const item = this.#open.get(event.itemId);
        if (item?.kind === 'message') item.refusal = (item.refusal ?? '') + event.delta;
        return;
      }
      case 'reasoning-summary-started':
        this.#append(event.itemId, 'summary', event.index, '');
        return;
      case 'reasoning-summary-delta':
        this.#append(event.itemId, 'summary', event.index, event.delta);
        return;
      case 'reasoning-text-delta':
        this.#append(event.itemId, 'content', event.index, event.delta);
        return;
      case 'message-ended':
      case 'reasoning-ended':
      case 'call-ended':
        this.#open.delete(event.itemId);
        return;
      case 'turn-accepted':
      case 'carried-item':
      case 'turn-ended':
        return;
      default:
        assertNever(event);
    }
  }

  has(itemId: string): boolean {
    return this.#open.has(itemId);
  }

  /** The text of an open message or the arguments of an open call so far. */
  textOf(itemId: string): string {
    const item = this.#open.get(itemId);
    return item === undefined || item.kind === 'reasoning' ? '' : item.text;
  }

  /** The summary or the raw text of an open reasoning item so far, part by part. */
  reasoningOf(itemId: string, list: 'summary' | 'content'): readonly string[] {
    const item = this.#open.get(itemId);
    return item?.kind === 'reasoning' ? item[list] : [];
  }

  /** The events that end whatever is open, in the order in which it was opened. */
  endAll(complete: boolean): TurnEvent[] {
    const events = [...this.#open.values()].map((item) => ended(item, complete));
    this.#open.clear();
    return events;
  }

  #append(itemId: string, list: 'summary' | 'content', index: number, delta: string): void {
    const item = this.#open.get(itemId);
    if (item?.kind !== 'reasoning') return;
    while (item[list].length <= index) item[list].push('');
    item[list][index] += delta;
  }
}

const ended = (item: Open, complete: boolean): TurnEvent => {
  switch (item.kind) {
    case 'message':
      return {
        type: 'message-ended',
        itemId: item.started.itemId,
        text: item.text,
        refusal: item.refusal,
        phase: item.started.phase,
        annotations: [],
        logprobs: [],
        complete,
      };
    case 'reasoning':
      return {
        type: 'reasoning-ended',
        itemId: item.itemId,
        summary: item.summary,
        content: item.content,
        encryptedContent: null,
        complete,
      };
    case 'call':
      return {
        type: 'call-ended',
        itemId: item.started.itemId,
        callId: item.started.callId,
        name: item.started.name,
        arguments: item.text,
        complete,
      };
    default:
      return assertNever(item);
  }
};
