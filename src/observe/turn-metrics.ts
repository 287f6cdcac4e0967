import { boundedLabel, knownLabel } from './metric-row.ts';
import type { Metrics } from './metrics.ts';
import type { TurnObserver } from './observer.ts';
import { isJsonObject } from '../kit/json/json.ts';

/** Counts turns, their tokens, and items of unknown types. Shared by all turns, to bound the number of types. */
export const turnMetrics = (metrics: Metrics): TurnObserver => {
  const typeLabel = boundedLabel();
  return {
    onStart() {
      metrics.turnsActive.inc();
    },
    onEvent(event) {
      if (event.type !== 'item-ended' || !('raw' in event.item)) return;
      const { type } = event.item.raw;
      if (!KNOWN_ITEMS.has(type)) metrics.unknownItems.inc({ type: typeLabel(type) });
    },
    onEnd({ usage, firstEventMs }) {
      metrics.turnsActive.dec();
      if (firstEventMs !== null) metrics.firstEventSeconds.observe(firstEventMs / 1000);
      if (usage === null) return;
      metrics.tokens.inc({ kind: 'input' }, usage.inputTokens);
      metrics.tokens.inc({ kind: 'cached_input' }, usage.cachedInputTokens);
      metrics.tokens.inc({ kind: 'output' }, usage.outputTokens);
      metrics.tokens.inc({ kind: 'reasoning' }, usage.reasoningTokens);
    },
  };
};

/** OpenAI's items that are passed on unchanged; any other type is the backend's own. */
const KNOWN_ITEMS: ReadonlySet<string> = new Set([
  'apply_patch_call',
  'code_interpreter_call',
  'compaction',
  'computer_call',
  'file_search_call',
  'image_generation_call',
  'local_shell_call',
  'mcp_approval_request',
  'mcp_call',
  'mcp_list_tools',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
]);

interface SentFrame {
  readonly event: string | null;
  readonly data: unknown;
}

/** Counts the frames of one stream cheaply, and adds the totals to the metrics at its end. */
export interface FrameTally {
  sent(frame: SentFrame): void;
  ended(): void;
}

export const frameTally = ({ responseEvents }: Metrics): FrameTally => {
  const counts = new Map<string, number>();
  return {
    sent(frame) {
      // A backend may send any number of event names.
      const type = labelOf(typeof frame.data === 'string' ? frame.data : (frame.event ?? typeOf(frame.data)));
      counts.set(type, (counts.get(type) ?? 0) + 1);
    },
    ended() {
      for (const [type, count] of counts) responseEvents.inc({ response_event_type: type }, count);
      counts.clear();
    },
  };
};

/** Chat and Completions frames have no names. */
const typeOf = (data: unknown): string => {
  const object = isJsonObject(data) ? data['object'] : undefined;
  return typeof object === 'string' ? object : 'error';
};

/** The events of a Responses stream, as `response.THING.EVENT`. */
const RESPONSE_EVENTS: Readonly<Record<string, readonly string[]>> = {
  output_item: ['added', 'done'],
  content_part: ['added', 'done'],
  output_text: ['delta', 'done', 'annotation.added'],
  refusal: ['delta', 'done'],
  function_call_arguments: ['delta', 'done'],
  custom_tool_call_input: ['delta', 'done'],
  mcp_call_arguments: ['delta', 'done'],
  mcp_call: ['in_progress', 'completed', 'failed'],
  mcp_list_tools: ['in_progress', 'completed', 'failed'],
  code_interpreter_call_code: ['delta', 'done'],
  code_interpreter_call: ['in_progress', 'interpreting', 'completed'],
  file_search_call: ['in_progress', 'searching', 'completed'],
  image_generation_call: ['in_progress', 'generating', 'partial_image', 'completed'],
  web_search_call: ['in_progress', 'searching', 'completed'],
  reasoning_summary_part: ['added', 'done'],
  reasoning_summary_text: ['delta', 'done'],
  reasoning_text: ['delta', 'done'],
};

/** The events that the proxy writes. Hosted tools report progress with the backend's event types. */
const labelOf = knownLabel(
  new Set([
    ...['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(
      (end) => `response.${end}`,
    ),
    ...Object.entries(RESPONSE_EVENTS).flatMap(([thing, events]) =>
      events.map((event) => `response.${thing}.${event}`),
    ),
    ...['image_generation', 'image_edit'].flatMap((image) => [
      `${image}.partial_image`,
      `${image}.completed`,
    ]),
    ...['created', 'completed', 'failed'].map((end) => `codex.review.${end}`),
    'chat.completion.chunk',
    'text_completion',
    'error',
    '[DONE]',
  ]),
);
