import type { JsonObject } from '../../kit/json.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';

/** codex's own bookkeeping on an item is nothing that the model said. */
export const withoutMetadata = (item: ResponseItem): JsonObject & { readonly type: string } => {
  const { internal_chat_message_metadata_passthrough: _, ...rest } = item as Record<string, unknown> & {
    type: string;
  };
  return rest as JsonObject & { readonly type: string };
};
