/** Reasoning efforts, from least to most. Models support some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;

export type Effort = (typeof EFFORTS)[number];

/** Metadata of a model. Null means unknown. */
export interface ModelInfo {
  readonly id: string;
  readonly displayName: string | null;
  /** One sentence about its purpose. */
  readonly description: string | null;
  /** The model that replaces it. */
  readonly upgrade: string | null;
  readonly ownedBy: string;
  /** Seconds since the Unix epoch. */
  readonly created: number | null;
  /** Supported reasoning efforts, lowest first. */
  readonly efforts: readonly string[] | null;
  /** The effort that codex uses by default. */
  readonly defaultEffort: string | null;
  /** Service tiers besides the default. */
  readonly serviceTiers: readonly string[] | null;
  readonly inputModalities: readonly string[] | null;
  readonly contextWindow: number | null;
  readonly maxContextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

/** A model of which only the name is known. */
export const unknownModel = (id: string): ModelInfo => ({
  id,
  displayName: null,
  description: null,
  upgrade: null,
  ownedBy: 'codex',
  created: null,
  efforts: null,
  defaultEffort: null,
  serviceTiers: null,
  inputModalities: null,
  contextWindow: null,
  maxContextWindow: null,
  maxOutputTokens: null,
});

/** Aliases configured by the deployment, and the names that they map to. */
export type ModelAliases = Readonly<Record<string, string>>;

/** The models of a backend. */
export interface ModelList {
  /** Offered models, in the backend's order. */
  readonly models: readonly ModelInfo[];
  /** The default model, or null. */
  readonly standard: string | null;
  /** Models that are not listed but whose aliases still resolve. */
  readonly unlisted: readonly ModelInfo[];
}

export interface ResolvedModel {
  /** The name to send to the backend. */
  readonly model: string;
  /** The effort that the alias selects. */
  readonly effort: string | null;
  /** The service tier that the alias selects. */
  readonly serviceTier: string | null;
}

/** A listed name: a model or an alias. */
export interface ModelName {
  readonly id: string;
  readonly meaning: ResolvedModel;
  readonly info: ModelInfo;
}

export interface ModelNames {
  /** Resolves a name. Unknown names are sent to the backend unchanged. */
  resolve(name: string): ResolvedModel;
  readonly list: ModelList;
  /** Listed models and their aliases, for `/v1/models`. */
  readonly all: readonly ModelName[];
  /** Finds a listed name, also with an effort and `-fast`, or with `-codev-…`; null if unknown. */
  find(name: string): ModelName | null;
  /** The smallest listed model, or null. */
  readonly smallest: ModelInfo | null;
}

/** Whether a model may be used. */
export type ModelFilter = (model: string) => boolean;

/** The names of the models that may be used, and their aliases. `mayUse`: null allows all. */
export const usableNames = (names: ModelNames, mayUse: ModelFilter | null): ModelNames => {
  if (mayUse === null) return names;
  const usable = (models: readonly ModelInfo[]) => models.filter(({ id }) => mayUse(id));
  return {
    ...names,
    all: names.all.filter(({ meaning }) => mayUse(meaning.model)),
    list: { ...names.list, models: usable(names.list.models), unlisted: usable(names.list.unlisted) },
    find(name) {
      const found = names.find(name);
      return found !== null && mayUse(found.meaning.model) ? found : null;
    },
  };
};

/** Names with this prefix mean the current default model. */
export const FAMILY = 'codex-5';
/** Suffixes for family names if the efforts of the default model are unknown. */
const USUAL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const FAST = '-fast';
/** The tier for `-fast`. codex calls it "Fast", the backends "priority". */
const FAST_TIER = 'priority';
/** Our older alias for a model and its effort, as in `gpt-5.2-codev-l`. */
const CODEV = /^(?<base>.+)-codev(?:-(?<letter>l|m|h|xh))?$/s;
const CODEV_EFFORTS: Readonly<Record<string, string>> = { l: 'low', m: 'medium', h: 'high', xh: 'xhigh' };

export const createModelNames = (list: ModelList, aliases: ModelAliases = {}): ModelNames => {
  const { models, standard, unlisted } = list;
  const table = new Map<string, ModelName>();
  const add = (id: string, info: ModelInfo, effort: string | null, serviceTier: string | null): void => {
    if (!table.has(id)) table.set(id, { id, info, meaning: { model: info.id, effort, serviceTier } });
  };
  const addModel = (info: ModelInfo): void => add(info.id, info, null, null);
  const addAliases = (name: string, info: ModelInfo): void => {
    for (const effort of info.efforts ?? []) add(`${name}-${effort}`, info, effort, null);
    if (isFast(info)) add(`${name}${FAST}`, info, null, FAST_TIER);
  };
  // Not listed, because there would be too many, but they resolve.
  const addCombined = (name: string, info: ModelInfo): void => {
    if (!isFast(info)) return;
    for (const effort of info.efforts ?? []) add(`${name}-${effort}${FAST}`, info, effort, FAST_TIER);
  };
  for (const model of models) addModel(model);
  for (const model of models) addAliases(model.id, model);
  const chosen = models.find(({ id }) => id === standard) ?? models[0];
  if (chosen !== undefined) {
    add(FAMILY, chosen, null, null);
    addAliases(FAMILY, chosen);
  }
  const listed = [...table.values()];
  for (const model of models) addCombined(model.id, model);
  if (chosen !== undefined) addCombined(FAMILY, chosen);
  const offered = new Map(table);
  for (const model of unlisted) {
    addModel(model);
    addAliases(model.id, model);
    addCombined(model.id, model);
  }
  const plain = (name: string): ResolvedModel =>
    table.get(name)?.meaning ??
    (chosen !== undefined && name.startsWith(FAMILY)
      ? ofFamily(name, chosen)
      : { model: name, effort: null, serviceTier: null });
  const own = new Map(Object.entries(aliases));
  /** A configured alias is not applied again inside its own target: `gpt-5.5` may map to `gpt-5.5-high`. */
  const resolve = (name: string, within: readonly string[] = []): ResolvedModel => {
    const codev = own.has(name) || table.has(name) ? null : codevOf(name);
    const base = codev?.base ?? name;
    const target = within.includes(base) ? undefined : own.get(base);
    const meaning = target === undefined ? plain(base) : resolve(target, [...within, base]);
    return { ...meaning, effort: codev?.effort ?? meaning.effort };
  };
  const known = new Map([...models, ...unlisted].map((info) => [info.id, info]));
  const ours = new Map(
    [...own.keys()].map((id): [string, ModelName] => {
      const meaning = resolve(id);
      return [id, { id, meaning, info: known.get(meaning.model) ?? unknownModel(meaning.model) }];
    }),
  );
  const found = (name: string): ModelName | null => ours.get(name) ?? offered.get(name) ?? null;
  const foundCodev = (name: string): ModelName | null => {
    const codev = codevOf(name);
    const info = codev === null ? undefined : found(codev.base)?.info;
    if (codev === null || info === undefined) return null;
    const isOffered = codev.effort === null || info.efforts?.includes(codev.effort) !== false;
    return isOffered ? { id: name, info, meaning: resolve(name) } : null;
  };
  return {
    list,
    all: [...new Map([...listed.map((one) => [one.id, one] as const), ...ours]).values()],
    find: (name) => found(name) ?? foundCodev(name),
    resolve: (name) => ours.get(name)?.meaning ?? resolve(name),
    smallest: smallestOf(models),
  };
};

/** Splits a `-codev` name; null for other names. Without a letter the effort is that of the base. */
const codevOf = (name: string): { readonly base: string; readonly effort: string | null } | null => {
  const { base, letter } = CODEV.exec(name)?.groups ?? {};
  return base === undefined ? null : { base, effort: CODEV_EFFORTS[letter ?? ''] ?? null };
};

const isFast = ({ serviceTiers }: ModelInfo): boolean => serviceTiers?.includes(FAST_TIER) === true;

/** Resolves any other family name by its suffix, unless the model is known not to support it. */
const ofFamily = (name: string, info: ModelInfo): ResolvedModel => {
  const isFastName = name.endsWith(FAST);
  const rest = isFastName ? name.slice(0, -FAST.length) : name;
  return {
    model: info.id,
    effort: (info.efforts ?? USUAL_EFFORTS).find((effort) => rest.endsWith(`-${effort}`)) ?? null,
    serviceTier: isFastName && (info.serviceTiers === null || isFast(info)) ? FAST_TIER : null,
  };
};

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
