import type { ModelInfo } from './model-names.ts';

/** What makers call their small models, the smallest first. */
const SMALL = ['nano', 'tiny', 'micro', 'mini', 'lite', 'small', 'spark', 'flash', 'haiku', 'luna'];

/** Models that do not answer in words, as providers name them. */
const OTHER_KINDS =
  /embed|whisper|transcri|tts|speech|audio|realtime|image|dall-?e|diffusion|flux|sora|video|moderation|guard|rerank|ocr|bge-|e5-|babbage|davinci|search-api|computer-use/i;

/** A guess by the name alone. */
export const soundsLikeWords = (name: string): boolean => !OTHER_KINDS.test(name);

/**
 * The smallest model of a list, by what the names say, for nobody says it otherwise: the one with the smallest
 * of the words above; else the one with the fewest billions (`llama-8b`); else the last of the list, since
 * lists begin with the best. Among equals the first. Null for an empty list.
 */
export const smallestOf = (models: readonly ModelInfo[]): ModelInfo | null => {
  const writers = models.filter(({ id }) => soundsLikeWords(id));
  const sized = (size: (words: readonly string[]) => number): ModelInfo | null =>
    leastOf(writers, ({ id }) => size(id.toLowerCase().split(/[^a-z0-9.]+/)));
  return sized(rankOf) ?? sized(billionsOf) ?? writers.at(-1) ?? models.at(-1) ?? null;
};

const rankOf = (words: readonly string[]): number =>
  Math.min(...SMALL.flatMap((small, rank) => (words.includes(small) ? [rank] : [])));

const billionsOf = (words: readonly string[]): number =>
  Math.min(...words.flatMap((word) => (/^\d+(?:\.\d+)?b$/.test(word) ? [Number.parseFloat(word)] : [])));

/** The first one with the least; null where nobody has any. */
const leastOf = (models: readonly ModelInfo[], size: (model: ModelInfo) => number): ModelInfo | null => {
  let least: { readonly model: ModelInfo; readonly size: number } | null = null;
  for (const model of models) {
    const its = size(model);
    if (its < (least?.size ?? Infinity)) least = { model, size: its };
  }
  return least?.model ?? null;
};
