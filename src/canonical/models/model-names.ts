import { smallestOf } from './smallest-model.ts';

/** What is known of a model. Null stands for what nobody said. */
export interface ModelInfo {
  readonly id: string;
  readonly displayName: string | null;
  /** What it is good for, in a sentence. */
  readonly description: string | null;
  /** The model that is to be used in its place. */
  readonly upgrade: string | null;
  readonly ownedBy: string;
  /** Seconds since the Unix epoch. */
  readonly created: number | null;
  /** The efforts that it takes, least first. */
  readonly efforts: readonly string[] | null;
  /** The effort that codex itself would ask for. */
  readonly defaultEffort: string | null;
  /** The tiers that it has beside the usual one. */
  readonly serviceTiers: readonly string[] | null;
  readonly inputModalities: readonly string[] | null;
  readonly contextWindow: number | null;
  readonly maxContextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

/** A model of which nothing but its name is known. */
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

/** Names of a deployment, and the names that they stand for. */
export type ModelAliases = Readonly<Record<string, string>>;

/** The models of a backend. */
export interface ModelList {
  /** What the backend offers, in its order. */
  readonly models: readonly ModelInfo[];
  /** Which of them is the default; null if there is none. */
  readonly standard: string | null;
  /** Models that it does not list, but whose aliases have a meaning all the same. */
  readonly unlisted: readonly ModelInfo[];
}

export interface ResolvedModel {
  /** The name for the backend. */
  readonly model: string;
  /** The effort that the alias stands for. */
  readonly effort: string | null;
  /** The tier that the alias stands for. */
  readonly serviceTier: string | null;
}

/** One name of the list: a model itself, or an alias. */
export interface ModelName {
  readonly id: string;
  readonly meaning: ResolvedModel;
  readonly info: ModelInfo;
}

export interface ModelNames {
  /** A name that is neither listed nor an alias goes to the backend as it is. */
  resolve(name: string): ResolvedModel;
  /** The models themselves. */
  readonly list: ModelList;
  /** Listed models and their aliases, for `/v1/models`. */
  readonly all: readonly ModelName[];
  /** One of them, or an effort and `-fast`, or `-codev-…` of one; null for any other name. */
  find(name: string): ModelName | null;
  /** The smallest that is listed; null where none is. */
  readonly smallest: ModelInfo | null;
}

/** Names of this family mean "the default model", whatever it is today. */
export const FAMILY = 'codex-5';
/** What the family's names may end in where the default model does not say which efforts it has. */
const USUAL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const FAST = '-fast';
/** What `-fast` asks for. codex calls this tier "Fast", the backends "priority". */
const FAST_TIER = 'priority';
/** An older name of ours for a model and its effort, as in `gpt-5.2-codev-l`. */
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
  // Too many to show, but they have a meaning.
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
  /** Within its own meaning a name is not ours: `gpt-5.5` may stand for `gpt-5.5-high`. */
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

/** What such a name is made of; null: it is none. An effort that is not said is that of the base. */
const codevOf = (name: string): { readonly base: string; readonly effort: string | null } | null => {
  const { base, letter } = CODEV.exec(name)?.groups ?? {};
  return base === undefined ? null : { base, effort: CODEV_EFFORTS[letter ?? ''] ?? null };
};

const isFast = ({ serviceTiers }: ModelInfo): boolean => serviceTiers?.includes(FAST_TIER) === true;

/** Any other name of the family: its ending still counts, unless the model is known not to have it. */
const ofFamily = (name: string, info: ModelInfo): ResolvedModel => {
  const isFastName = name.endsWith(FAST);
  const rest = isFastName ? name.slice(0, -FAST.length) : name;
  return {
    model: info.id,
    effort: (info.efforts ?? USUAL_EFFORTS).find((effort) => rest.endsWith(`-${effort}`)) ?? null,
    serviceTier: isFastName && (info.serviceTiers === null || isFast(info)) ? FAST_TIER : null,
  };
};
