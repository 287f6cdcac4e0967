import type { ImageUsage, TokensByKind, Usage } from '../../canonical/events/usage.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/** The usage of a response as the backend sent it; null if it sent none. */
export const readUsage = (response: JsonObject | null): Usage | null => {
  const usage = response?.['usage'];
  if (!isJsonObject(usage)) return null;
  const images = readImages(response?.['tool_usage']);
  const input = isJsonObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
  const output = isJsonObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {};
  return {
    inputTokens: numberOf(usage['input_tokens']),
    cachedInputTokens: numberOf(input['cached_tokens']),
    cacheWriteInputTokens: numberOf(input['cache_write_tokens']),
    outputTokens: numberOf(usage['output_tokens']),
    reasoningTokens: numberOf(output['reasoning_tokens']),
    totalTokens: numberOf(usage['total_tokens']),
    ...(images === null ? {} : { images }),
  };
};

/** Null if no image was generated or counted. */
const readImages = (used: Json | undefined): ImageUsage | null => {
  const images = isJsonObject(used) && isJsonObject(used['image_gen']) ? used['image_gen'] : {};
  if (numberOf(images['total_tokens']) === 0) return null;
  const side = (name: 'input' | 'output'): TokensByKind => {
    const details = images[`${name}_tokens_details`];
    const of = isJsonObject(details)
      ? { text: numberOf(details['text_tokens']), image: numberOf(details['image_tokens']) }
      : null;
    return { tokens: numberOf(images[`${name}_tokens`]), of };
  };
  return { input: side('input'), output: side('output') };
};

/** Invalid counts become 0. */
const numberOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
