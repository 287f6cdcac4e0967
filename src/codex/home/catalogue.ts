import { unknownModel, type ModelInfo, type ModelList } from '../../canonical/models/model-names.ts';
import { isJsonObject, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';

/**
 * The kind of backend that a catalogue is for. For some models codex uses a request format of its own, with
 * the tools inside the input and one call at a time. Only the backend of a ChatGPT login accepts it.
 */
export type CatalogueKind = 'chatgpt' | 'api';

/** The models that a worker knows, and how it treats them. */
export interface Catalogue {
  /** Content of the file that codex reads. */
  readonly json: string;
  /** The entries it was made from, in codex's own form. */
  readonly entries: readonly JsonObject[];
  /** Models to show to people, best first. */
  readonly list: ModelList;
  /** Whether codex uses the codex format for a model, listed or not. */
  usesCodexFormat(name: string): boolean;
  /** Whether a model is in codex's own list. */
  knows(name: string): boolean;
  /** The reasoning efforts of a model; null if unknown. */
  effortsOf(name: string): readonly string[] | null;
  /** The model name that makes codex use the Responses format. */
  responsesSlug(name: string): string;
  /** The name of the entry that codex uses for a model name; one fixed name for all that are not listed. */
  slugOf(name: string): string;
}

/** Appended to a model name: the same model in the Responses format. Only codex and the relay see it. */
export const RESPONSES_SUFFIX = '--full';
const withSuffix = (slug: string): string => `${slug}${RESPONSES_SUFFIX}`;

/**
 * Overrides for every model: remove defaults that codex would send, expose tools directly, and do not
 * truncate tool outputs.
 */
const CLEAN_FIELDS = {
  tool_mode: 'direct',
  apply_patch_tool_type: null,
  shell_type: 'disabled',
  supports_parallel_tool_calls: true,
  supports_search_tool: false,
  experimental_supported_tools: [],
  multi_agent_version: null,
  // A limit that no request reaches: codex's own truncates tool outputs at 10,000 tokens.
  truncation_policy: { mode: 'tokens', limit: 10_000_000 },
  // Near the context window codex would summarise the conversation without the client knowing.
  context_window: 100_000_000,
  max_context_window: 100_000_000,
  base_instructions: '',
  model_messages: null,
  include_skills_usage_instructions: false,
  include_plugin_usage_instructions: false,
  include_apps_usage_instructions: false,
  default_verbosity: null,
  default_reasoning_level: null,
  default_reasoning_summary: 'none',
} as const satisfies JsonObject;

/**
 * The fields that codex requires in an entry. The empty slug makes this the entry for all unlisted models,
 * because codex picks the longest slug that is a prefix of the name. Without it codex uses defaults that
 * truncate tool outputs and drop audio, tiers and verbosity.
 */
const ANY_OTHER = {
  slug: '',
  display_name: 'any other model',
  description: null,
  visibility: 'hide',
  supported_in_api: true,
  priority: 1_000_000,
  supported_reasoning_levels: [],
  service_tiers: [{ id: 'priority', name: 'Fast', description: '' }],
  support_verbosity: true,
  supports_image_detail_original: true,
  input_modalities: ['text', 'image'],
  use_responses_lite: false,
} as const satisfies JsonObject;

/** A name that is in no list: codex uses the entry above for it. */
const UNLISTED = 'unlisted-model';

/** Completes the entry of a model with defaults. */
export const completeEntry = (fields: JsonObject & { readonly slug: string }): JsonObject => ({
  ...ANY_OTHER,
  display_name: fields.slug,
  visibility: 'list',
  service_tiers: [],
  ...fields,
});

/**
 * Without "audio" codex replaces audio parts by text. Whether a model supports audio is left to the backend.
 */
const withAudio = (modalities: Json | undefined): Json => [
  ...new Set([...(Array.isArray(modalities) ? modalities : ['text', 'image']), 'audio']),
];

const cleanEntry = (entry: JsonObject, kind: CatalogueKind): JsonObject => {
  const { upgrade: _advice, input_modalities, ...rest } = entry;
  return {
    ...rest,
    ...CLEAN_FIELDS,
    use_responses_lite: kind === 'chatgpt' && entry['use_responses_lite'] === true,
    input_modalities: withAudio(input_modalities),
  };
};

/** Reads the output of `codex debug models`. */
export const entriesOf = (listed: unknown): readonly JsonObject[] => {
  const models = isJsonObject(listed) ? listed['models'] : undefined;
  if (!Array.isArray(models)) {
    throw new Error('the model catalogue of codex does not have the form that we know');
  }
  return models.filter((model): model is JsonObject => isJsonObject(model) && slugOf(model) !== '');
};

/** Builds the catalogue for the clean prompt from entries in codex's own form. */
export const cleanCatalogue = (entries: readonly JsonObject[], kind: CatalogueKind): Catalogue => {
  const clean = [...entries, ANY_OTHER].map((entry) => cleanEntry(entry, kind));
  const twins = clean.filter(isCodexFormatEntry).map((entry) => ({
    ...entry,
    slug: withSuffix(slugOf(entry)),
    use_responses_lite: false,
    visibility: 'hide',
  }));
  const codexFormatSlugs = clean.filter(isCodexFormatEntry).map(slugOf);
  const responsesSlugs = [...clean.filter((entry) => !isCodexFormatEntry(entry)), ...twins].map(slugOf);
  /** The slug of the entry that codex picks for a name, if that entry uses the codex format. */
  const codexFormatSlug = (name: string): string | null => {
    const slug = longestPrefix(codexFormatSlugs, name);
    return slug !== null && slug.length > (longestPrefix(responsesSlugs, name) ?? '').length ? slug : null;
  };
  const all = [...codexFormatSlugs, ...responsesSlugs];
  const list = modelList(entries, kind);
  const efforts = new Map([...list.models, ...list.unlisted].map((model) => [model.id, model.efforts]));
  return {
    json: JSON.stringify({ models: [...clean, ...twins] }),
    entries,
    list,
    knows: (name) => efforts.has(name),
    effortsOf: (name) => efforts.get(name) ?? null,
    usesCodexFormat: (name) => codexFormatSlug(name) !== null,
    slugOf: (name) => longestPrefix(all, name) || UNLISTED,
    responsesSlug(name) {
      const slug = codexFormatSlug(name);
      return slug === null ? name : `${withSuffix(slug)}${name.slice(slug.length)}`;
    },
  };
};

/** What an agent's catalogue changes in entries as codex ships them. */
const AGENT_FIELDS = {
  // Otherwise the newest models would write programs that call the tools.
  tool_mode: 'direct',
  multi_agent_version: null,
  supports_search_tool: false,
  experimental_supported_tools: [],
  context_window: CLEAN_FIELDS.context_window,
  max_context_window: CLEAN_FIELDS.max_context_window,
  // Its model requests are read by this server's own Responses API.
  use_responses_lite: false,
} as const satisfies JsonObject;

/**
 * Content of the catalogue file for codex as an agent: with its own instructions and tools. Unlisted models are treated as
 * the standard model.
 */
export const agentCatalogue = (entries: readonly JsonObject[]): string => {
  const { standard } = modelList(entries, 'chatgpt');
  const model = entries.find((entry) => slugOf(entry) === standard) ?? entries[0] ?? {};
  const { slug, display_name, description, visibility, supported_in_api, priority } = ANY_OTHER;
  const anyOther: JsonObject = {
    ...model,
    slug,
    display_name,
    description,
    visibility,
    supported_in_api,
    priority,
  };
  const models = [...entries, anyOther].map(({ upgrade: _advice, ...entry }) => ({
    ...entry,
    ...AGENT_FIELDS,
  }));
  return JSON.stringify({ models });
};

const slugOf = ({ slug }: JsonObject): string => (typeof slug === 'string' ? slug : '');
const isCodexFormatEntry = (entry: JsonObject): boolean => entry['use_responses_lite'] === true;

const longestPrefix = (slugs: readonly string[], name: string): string | null =>
  slugs
    .filter((slug) => name.startsWith(slug))
    .reduce<string | null>((best, slug) => (best === null || slug.length > best.length ? slug : best), null);

/** The models shown to people, in codex's order; the first is its default. */
const modelList = (entries: readonly JsonObject[], kind: CatalogueKind): ModelList => {
  const isShown = (entry: JsonObject): boolean =>
    entry['visibility'] === 'list' && (kind === 'chatgpt' || entry['supported_in_api'] !== false);
  const models = entries
    .filter(isShown)
    .toSorted((one, other) => priorityOf(one) - priorityOf(other))
    .map(modelInfo);
  return {
    models,
    standard: models[0]?.id ?? null,
    unlisted: entries.filter((entry) => !isShown(entry)).map(modelInfo),
  };
};

const priorityOf = ({ priority }: JsonObject): number => (typeof priority === 'number' ? priority : Infinity);

const modelInfo = (entry: JsonObject): ModelInfo => ({
  ...unknownModel(slugOf(entry)),
  displayName: typeof entry['display_name'] === 'string' ? entry['display_name'] : null,
  description: typeof entry['description'] === 'string' ? entry['description'] : null,
  upgrade: isJsonObject(entry['upgrade']) ? textIn(entry['upgrade'], 'model') || null : null,
  efforts: namesIn(entry['supported_reasoning_levels'], 'effort'),
  defaultEffort:
    typeof entry['default_reasoning_level'] === 'string' ? entry['default_reasoning_level'] : null,
  serviceTiers: namesIn(entry['service_tiers'], 'id'),
  inputModalities: Array.isArray(entry['input_modalities'])
    ? entry['input_modalities'].filter((one) => typeof one === 'string')
    : null,
  contextWindow: numberIn(entry['context_window']),
  maxContextWindow: numberIn(entry['max_context_window']),
});

const numberIn = (value: Json | undefined): number | null => (typeof value === 'number' ? value : null);

/** `[{ effort: 'low', description: … }]` → `['low']` */
const namesIn = (value: Json | undefined, member: string): readonly string[] | null =>
  Array.isArray(value)
    ? value.flatMap((one: Json) => {
        const name = isJsonObject(one) ? one[member] : undefined;
        return typeof name === 'string' ? [name] : [];
      })
    : null;
