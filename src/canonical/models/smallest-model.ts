import type { ModelInfo } from './model-names.ts';

/** Words for small models in model names, smallest first. */
const SMALL = ['nano', 'tiny', 'micro', 'mini', 'lite', 'small', 'spark', 'flash', 'haiku', 'luna'];

/** Name patterns of models that do not generate text. */
const OTHER_KINDS =
  /embed|whisper|transcri|tts|speech|audio|realtime|image|dall-?e|diffusion|flux|sora|video|moderation|guard|rerank|ocr|bge-|e5-|babbage|davinci|search-api|computer-use/i;

/** Guesses from its name whether a model generates text. */
export const isTextModelName = (name: string): boolean => !OTHER_KINDS.test(name);

/**
 * Guesses the smallest model from the names: the one with the smallest of the words above, else the fewest
 * billions of parameters (`llama-8b`), else the last, since lists begin with the best. The first one wins a tie.
 */
export const smallestOf = (models: readonly ModelInfo[]): ModelInfo | null => {
  const textModels = models.filter(({ id }) => isTextModelName(id));
  const sized = (size: (words: readonly string[]) => number): ModelInfo | null =>
    leastOf(textModels, ({ id }) => size(id.toLowerCase().split(/[^a-z0-9.]+/)));
  return sized(rankOf) ?? sized(billionsOf) ?? textModels.at(-1) ?? models.at(-1) ?? null;
};

const rankOf = (words: readonly string[]): number =>
  Math.min(...SMALL.flatMap((small, rank) => (words.includes(small) ? [rank] : [])));

const billionsOf = (words: readonly string[]): number =>
  Math.min(...words.flatMap((word) => (/^\d+(?:\.\d+)?b$/.test(word) ? [Number.parseFloat(word)] : [])));

/** The first model with the least size; null if no model has a size. */
const leastOf = (models: readonly ModelInfo[], size: (model: ModelInfo) => number): ModelInfo | null => {
  let least: { readonly model: ModelInfo; readonly size: number } | null = null;
  for (const model of models) {
    const itsSize = size(model);
    if (itsSize < (least?.size ?? Infinity)) least = { model, size: itsSize };
  }
  return least?.model ?? null;
};
