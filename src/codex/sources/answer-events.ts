import type { Slot } from '../../canonical/request/item.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { OutputItem } from './read-item.ts';

interface DeltaRule {
  /** The kind of item that it belongs to. */
  readonly kind: OutputItem['kind'];
  readonly slot: (data: JsonObject) => Slot;
}

const listAt =
  (list: 'summary' | 'reasoning', field: 'summary_index' | 'content_index') =>
  (data: JsonObject): Slot => {
    const index = data[field];
    return { list, index: typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : 0 };
  };

/** By type. A map, because the types of events are new strings each time. */
const rules = <Rule>(byType: Readonly<Record<string, Rule>>): ReadonlyMap<string, Rule> =>
  new Map(Object.entries(byType));

/** Events with a piece of an item's text, and where it belongs. */
const DELTAS: ReadonlyMap<string, DeltaRule> = rules({
  'response.output_text.delta': { kind: 'message', slot: () => 'text' },
  'response.refusal.delta': { kind: 'message', slot: () => 'refusal' },
  'response.function_call_arguments.delta': { kind: 'tool-call', slot: () => 'input' },
  'response.custom_tool_call_input.delta': { kind: 'tool-call', slot: () => 'input' },
  'response.mcp_call_arguments.delta': { kind: 'hosted-call', slot: () => 'input' },
  'response.code_interpreter_call_code.delta': { kind: 'hosted-call', slot: () => 'input' },
  'response.reasoning_summary_part.added': { kind: 'reasoning', slot: listAt('summary', 'summary_index') },
  'response.reasoning_summary_text.delta': { kind: 'reasoning', slot: listAt('summary', 'summary_index') },
  'response.reasoning_text.delta': { kind: 'reasoning', slot: listAt('reasoning', 'content_index') },
});

export const deltaRule = (type: string): DeltaRule | null => DELTAS.get(type) ?? null;

/** Events with the whole text of an item, which some backends send instead of pieces, and the field that holds it. */
const WHOLE: ReadonlyMap<string, DeltaRule & { readonly field: string }> = rules({
  'response.refusal.done': { kind: 'message', slot: () => 'refusal', field: 'refusal' },
  'response.function_call_arguments.done': { kind: 'tool-call', slot: () => 'input', field: 'arguments' },
  'response.custom_tool_call_input.done': { kind: 'tool-call', slot: () => 'input', field: 'input' },
});

export const wholeRule = (type: string): (DeltaRule & { readonly field: string }) | null =>
  WHOLE.get(type) ?? null;

/** Events without which content would be missing. */
const OTHERS: ReadonlySet<string> = new Set([
  'response.output_item.added',
  'response.output_item.done',
  'response.output_text.annotation.added',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

/** Prefixes of events of messages, reasoning and calls; only those above are read. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set([
  'audio',
  'content_part',
  'custom_tool_call_input',
  'function_call_arguments',
  'output_item',
  'output_text',
  'reasoning',
  'reasoning_summary',
  'reasoning_summary_part',
  'reasoning_summary_text',
  'reasoning_text',
  'refusal',
]);

export interface Progress {
  readonly of: string;
  readonly status: string;
}

/** The progress of a hosted tool, such as `response.web_search_call.searching`. Any status is passed on unchanged. */
export const progressOf = (type: string): Progress | null => {
  const [, of, status] = /^response\.(\w+)\.(\w+)$/.exec(type) ?? [];
  return of === undefined || status === undefined || READ_ELSEWHERE.has(of) ? null : { of, status };
};

/** Whether an event has to be parsed: most others repeat what deltas contained. */
export const isRead = (type: string): boolean => isContent(type) || progressOf(type) !== null;

/** Whether an answer is incomplete without the event. */
export const isContent = (type: string): boolean => DELTAS.has(type) || WHOLE.has(type) || OTHERS.has(type);
