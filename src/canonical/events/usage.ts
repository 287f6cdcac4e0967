/** The tokens that have a price. */
export interface BilledTokens {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

/** Token counts, as reported by the upstream unless `isCounted` is set. */
export interface Usage extends BilledTokens {
  readonly cacheWriteInputTokens: number;
  readonly reasoningTokens: number;
  readonly totalTokens: number;
  /** Usage of the image model; not included in the other counts. */
  readonly images?: ImageUsage;
  /** At least part of the counts was computed by this server, because the upstream reported none. */
  readonly isCounted?: true;
}

/** The counts as facts of a span. */
export const tokenFacts = ({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage) => ({
  inputTokens,
  cachedInputTokens,
  outputTokens,
  reasoningTokens,
});

/** Tokens of an image model. */
export interface ImageUsage {
  readonly input: TokensByKind;
  readonly output: TokensByKind;
}

/** `of` splits the tokens into text and image; null if the upstream did not. */
export interface TokensByKind {
  readonly tokens: number;
  readonly of: { readonly text: number; readonly image: number } | null;
}

export const addUsage = (a: Usage | null, b: Usage | null): Usage | null => {
  if (a === null) return b;
  if (b === null) return a;
  const images = addImages(a.images, b.images);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    ...(images === undefined ? {} : { images }),
    ...(a.isCounted === true || b.isCounted === true ? { isCounted: true } : {}),
  };
};

const addImages = (a: ImageUsage | undefined, b: ImageUsage | undefined): ImageUsage | undefined =>
  a === undefined || b === undefined
    ? (a ?? b)
    : { input: addKinds(a.input, b.input), output: addKinds(a.output, b.output) };

const addKinds = (a: TokensByKind, b: TokensByKind): TokensByKind => ({
  tokens: a.tokens + b.tokens,
  of: a.of === null || b.of === null ? null : { text: a.of.text + b.of.text, image: a.of.image + b.of.image },
});
