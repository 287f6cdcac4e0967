import { boundedLabel } from './bounded-label.ts';
import type { Metrics } from './metrics.ts';
import type { TurnObserver } from './observer.ts';

/** Counts turns, their tokens, and items of unknown types. Shared by all turns, to bound the number of types. */
export const turnMetrics = (
  metrics: Pick<Metrics, 'turnsActive' | 'tokens' | 'firstEventSeconds' | 'unknownItems'>,
): TurnObserver => {
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
