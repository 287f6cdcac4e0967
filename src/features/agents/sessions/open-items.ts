import type { ItemDelta, ItemStatusChanged } from '../../../canonical/events/turn-event.ts';
import {
  wordsOf,
  type HostedCall,
  type Item,
  type Message,
  type Produced,
  type Reasoning,
} from '../../../canonical/request/item.ts';
import type { Json } from '../../../kit/json/json.ts';
import type { ToolProgress } from '../run/port.ts';
import type { SessionItemRow } from '../store/port.ts';
import type { SessionEvent, SessionItem } from './objects.ts';

/** A command has ended. */
export type OnCommand = (status: 'completed' | 'failed', outputChars: number) => void;

/** The place of an item in its turn. */
export interface Slot {
  readonly id: string;
  readonly turnId: string;
  readonly folder: string | null;
  readonly onCommand: OnCommand;
  /** Sends an event. The first one gives the item its index. */
  readonly event: (
    make: (of: { readonly session_id: string; readonly turn_id: string }, index: number) => SessionEvent,
  ) => void;
  /** Sends an event that is not of an item. */
  readonly note: (
    make: (of: { readonly session_id: string; readonly turn_id: string }) => SessionEvent,
  ) => void;
  readonly row: (shown: SessionItem | null, raw: readonly Item[] | null) => void;
  /** What an approval shows the model is replaced by the call. */
  readonly replace: (approval: SessionItemRow) => void;
}

/** An item of a run that has begun, as clients follow it. */
export abstract class OpenItem {
  protected readonly slot: Slot;

  constructor(slot: Slot) {
    this.slot = slot;
  }

  start(): void {}
  delta(_event: ItemDelta): void {}
  status(_event: ItemStatusChanged): void {}
  progress(_progress: ToolProgress['progress']): void {}
  abstract done(item: Produced): void;
  /** It is done, and there is still more to come. */
  get goesOn(): boolean {
    return false;
  }
  /** It has no end. */
  abstract cut(): void;

  protected added(item: SessionItem, raw: readonly Item[] | null = null): void {
    this.slot.row(item, raw);
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.item.added',
      ...of,
      output_index,
      item,
    }));
  }

  protected ended(item: SessionItem, raw: readonly Item[] | null): void {
    this.slot.row(item, raw);
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.item.done',
      ...of,
      output_index,
      item,
    }));
  }
}

/** What only the model gets. */
export class HiddenItem extends OpenItem {
  done(item: Produced): void {
    this.slot.row(null, [item]);
  }

  cut(): void {}
}

export class OpenMessage extends OpenItem {
  readonly #phase: 'commentary' | 'final_answer' | null;
  #text = '';
  #isAdded = false;
  #hasPart = false;

  constructor(slot: Slot, phase: 'commentary' | 'final_answer' | null) {
    super(slot);
    this.#phase = phase;
  }

  override start(): void {
    this.#add();
  }

  override delta({ at, delta }: ItemDelta): void {
    if ((at === 'text' || at === 'refusal') && delta !== '') this.#say(delta);
  }

  done(item: Produced): void {
    const message = item as Message;
    const text = wordsOf(message, 'text') + wordsOf(message, 'refusal');
    this.#add();
    if (text.length > this.#text.length && text.startsWith(this.#text))
      this.#say(text.slice(this.#text.length));
    this.#end(message.status === 'incomplete' ? 'incomplete' : 'completed', message);
  }

  cut(): void {
    if (this.#isAdded) this.#end('incomplete', null);
  }

  #add(): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.added(this.#item('in_progress'));
  }

  #say(delta: string): void {
    this.#add();
    this.#openPart();
    this.#text += delta;
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.output_text.delta',
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      delta,
    }));
  }

  #openPart(): void {
    if (this.#hasPart) return;
    this.#hasPart = true;
    this.#part('agent.session.turn.content_part.added', '');
  }

  #part(
    type: 'agent.session.turn.content_part.added' | 'agent.session.turn.content_part.done',
    text: string,
  ): void {
    this.slot.event((of, output_index) => ({
      type,
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      part: { type: 'output_text', text },
    }));
  }

  #end(status: 'completed' | 'incomplete', message: Message | null): void {
    const text = this.#text;
    this.#openPart();
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.output_text.done',
      ...of,
      item_id: this.slot.id,
      output_index,
      content_index: 0,
      text,
    }));
    this.#part('agent.session.turn.content_part.done', text);
    this.ended(this.#item(status), message === null ? null : [message]);
  }

  #item(status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return {
      id: this.slot.id,
      type: 'message',
      role: 'assistant',
      turn_id: this.slot.turnId,
      phase: this.#phase,
      status,
      content: status === 'in_progress' ? [] : [{ type: 'output_text', text: this.#text }],
    };
  }
}

export class OpenReasoning extends OpenItem {
  readonly #parts: string[] = [];

  override start(): void {
    this.added(this.#item('in_progress'));
  }

  override delta({ at, delta }: ItemDelta): void {
    // Raw reasoning is not shown.
    if (typeof at === 'string' || at.list !== 'summary') return;
    this.#reach(at.index);
    if (delta === '') return;
    this.#parts[at.index] += delta;
    this.slot.event((of, output_index) => ({
      type: 'agent.session.turn.reasoning_summary_text.delta',
      ...of,
      item_id: this.slot.id,
      output_index,
      summary_index: at.index,
      delta,
    }));
  }

  done(item: Produced): void {
    const { summary, status } = item as Reasoning;
    for (const [index, text] of summary.entries()) {
      const said = this.#parts[index] ?? '';
      if (text.length > said.length && text.startsWith(said)) {
        this.delta({
          type: 'item-delta',
          itemId: item.id,
          at: { list: 'summary', index },
          delta: text.slice(said.length),
        });
      } else this.#reach(index);
    }
    this.#end(status === 'incomplete' ? 'incomplete' : 'completed', [item]);
  }

  cut(): void {
    this.#end('incomplete', null);
  }

  #reach(index: number): void {
    while (this.#parts.length <= index) {
      const summary_index = this.#parts.length;
      this.#parts.push('');
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_part.added',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        part: { type: 'summary_text', text: '' },
      }));
    }
  }

  #end(status: 'completed' | 'incomplete', raw: readonly Item[] | null): void {
    for (const [summary_index, text] of this.#parts.entries()) {
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_text.done',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        text,
      }));
      this.slot.event((of, output_index) => ({
        type: 'agent.session.turn.reasoning_summary_part.done',
        ...of,
        item_id: this.slot.id,
        output_index,
        summary_index,
        part: { type: 'summary_text', text },
        status: status === 'incomplete' ? 'incomplete' : null,
      }));
    }
    this.ended(this.#item(status), raw);
  }

  #item(status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return {
      id: this.slot.id,
      type: 'reasoning',
      turn_id: this.slot.turnId,
      status,
      summary: status === 'in_progress' ? [] : this.#parts.map((text) => ({ type: 'summary_text', text })),
    };
  }
}

export class OpenSearch extends OpenItem {
  override start(): void {
    this.added(this.#item(null, 'in_progress'));
  }

  done(item: Produced): void {
    const { raw, status } = item as HostedCall;
    this.ended(this.#item(raw['action'] ?? null, status === 'incomplete' ? 'incomplete' : 'completed'), [
      item,
    ]);
  }

  cut(): void {
    this.ended(this.#item(null, 'incomplete'), null);
  }

  #item(action: Json, status: 'in_progress' | 'completed' | 'incomplete'): SessionItem {
    return { id: this.slot.id, type: 'web_search_call', turn_id: this.slot.turnId, action, status };
  }
}
