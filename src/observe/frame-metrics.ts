import { isJsonObject } from '../kit/json/json.ts';
import { knownLabel } from './bounded-label.ts';
import type { Metrics } from './metrics.ts';

interface SentFrame {
  readonly event: string | null;
  readonly data: unknown;
}

/** Counts what one stream sends; a delta costs a look into two tables, and the numbers are added at the end. */
export interface FrameTally {
  sent(frame: SentFrame): void;
  ended(): void;
}

export const frameTally = ({ responseEvents }: Pick<Metrics, 'responseEvents'>): FrameTally => {
  const counts = new Map<string, number>();
  return {
    sent(frame) {
      // A backend may name any number of events in one stream.
      const type = labelOf(typeof frame.data === 'string' ? frame.data : (frame.event ?? typeOf(frame.data)));
      counts.set(type, (counts.get(type) ?? 0) + 1);
    },
    ended() {
      for (const [type, count] of counts) responseEvents.inc({ response_event_type: type }, count);
      counts.clear();
    },
  };
};

/** Chat and Completions give their frames no names. */
const typeOf = (data: unknown): string => {
  const object = isJsonObject(data) ? data['object'] : undefined;
  return typeof object === 'string' ? object : 'error';
};

/** The events that we write ourselves. The progress of a hosted tool is reported with event types of its backend. */
const labelOf = knownLabel(
  new Set([
    ...['created', 'in_progress', 'completed', 'incomplete', 'failed'].map((end) => `response.${end}`),
    ...[
      'output_item.added',
      'output_item.done',
      'content_part.added',
      'content_part.done',
      'output_text.delta',
      'output_text.done',
      'output_text.annotation.added',
      'refusal.delta',
      'refusal.done',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.done',
      'mcp_call.in_progress',
      'mcp_call.completed',
      'mcp_call.failed',
      'mcp_list_tools.in_progress',
      'mcp_list_tools.completed',
      'mcp_list_tools.failed',
      'code_interpreter_call_code.delta',
      'code_interpreter_call_code.done',
      'code_interpreter_call.in_progress',
      'code_interpreter_call.interpreting',
      'code_interpreter_call.completed',
      'file_search_call.in_progress',
      'file_search_call.searching',
      'file_search_call.completed',
      'image_generation_call.in_progress',
      'image_generation_call.generating',
      'image_generation_call.partial_image',
      'image_generation_call.completed',
      'web_search_call.in_progress',
      'web_search_call.searching',
      'web_search_call.completed',
      'reasoning_summary_part.added',
      'reasoning_summary_part.done',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_text.delta',
      'reasoning_text.done',
    ].map((type) => `response.${type}`),
    'image_generation.partial_image',
    'image_generation.completed',
    'image_edit.partial_image',
    'image_edit.completed',
    'codex.review.created',
    'codex.review.completed',
    'codex.review.failed',
    'chat.completion.chunk',
    'text_completion',
    'error',
    '[DONE]',
  ]),
);
