import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { completeEntry, RESPONSES_SUFFIX } from '../home/catalogue.ts';

/** A model that the backend lists for an account: the fields that we use, validated. */
export type AccountModel = JsonObject & { readonly slug: string };

/** More than any account has; bounds the external list. */
const MAX_MODELS = 300;
const MAX_NAME = 200;

/**
 * Reads and validates the backend's answer: codex rejects a whole catalogue for one unknown value, and then
 * no worker would start. Null if it is not a list.
 */
export const readAccountModels = (answer: unknown): readonly AccountModel[] | null => {
  const listed = isJsonObject(answer) ? (answer['models'] ?? answer['data']) : answer;
  if (!Array.isArray(listed)) return null;
  const named = new Set<string>();
  const models = listed.slice(0, MAX_MODELS).flatMap((one: unknown, index): AccountModel[] => {
    const slug = isJsonObject(one) ? (one['slug'] ?? one['id']) : undefined;
    // Of two entries with the same name codex takes the first; names with this suffix are ours.
    if (!isJsonObject(one) || !isName(slug) || named.has(slug) || slug.endsWith(RESPONSES_SUFFIX)) return [];
    named.add(slug);
    return [{ priority: index, ...checkedFields(one), slug }];
  });
  // A list without a selectable model is treated as no answer.
  return models.some((model) => (model['visibility'] ?? 'list') === 'list') ? models : null;
};

/**
 * The catalogue entries for an account: what the backend lists, merged over the bundled entry of the same
 * model. Bundled models that the account does not have stay known but hidden.
 */
export const accountEntries = (
  listed: readonly AccountModel[],
  bundled: readonly JsonObject[],
): readonly JsonObject[] => {
  const own = new Map(bundled.map((entry) => [entry['slug'], entry]));
  const named = new Set<Json | undefined>(listed.map(({ slug }) => slug));
  return [
    ...listed.map((model) => {
      const known = own.get(model.slug);
      return known === undefined ? completeEntry(model) : { ...known, visibility: 'list', ...model };
    }),
    ...bundled.filter(({ slug }) => !named.has(slug)).map((entry) => ({ ...entry, visibility: 'hide' })),
  ];
};

type Check = (value: Json) => Json | undefined;

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_NAME && value.isWellFormed();
/** codex cannot read a lone surrogate. */
const aText: Check = (value) =>
  typeof value === 'string' ? value.slice(0, 2_000).toWellFormed() : undefined;
const aName: Check = (value) => (isName(value) ? value : undefined);
const aBoolean: Check = (value) => (typeof value === 'boolean' ? value : undefined);
const aCount: Check = (value) => (Number.isSafeInteger(value) && Number(value) > 0 ? value : undefined);
const aPriority: Check = (value) =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) < 1_000_000 ? value : undefined;
const oneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? value : undefined;

/** Accepts a list of objects identified by one field; a bare name counts as such an object. */
const listBy =
  (member: string, others: readonly string[]): Check =>
  (value) =>
    Array.isArray(value)
      ? value.slice(0, 32).flatMap((one: Json) => {
          const object = isJsonObject(one) ? one : { [member]: one };
          if (!isName(object[member])) return [];
          const texts = others.map((name) => [name, aText(object[name] ?? '') ?? ''] as const);
          return [{ [member]: object[member], ...Object.fromEntries(texts) }];
        })
      : undefined;

const knownModalities: Check = (value) =>
  Array.isArray(value)
    ? value.filter((one) => one === 'text' || one === 'image' || one === 'audio')
    : undefined;

/** Fields that affect a request or are shown in `/v1/models`. All others are codex's own. */
const FIELDS: Readonly<Record<string, Check>> = {
  display_name: aText,
  description: aText,
  visibility: oneOf('list', 'hide', 'none'),
  supported_in_api: aBoolean,
  priority: aPriority,
  supported_reasoning_levels: listBy('effort', ['description']),
  default_reasoning_level: aName,
  service_tiers: listBy('id', ['name', 'description']),
  support_verbosity: aBoolean,
  supports_image_detail_original: aBoolean,
  supports_reasoning_effort_updates: aBoolean,
  input_modalities: knownModalities,
  use_responses_lite: aBoolean,
  context_window: aCount,
  max_context_window: aCount,
};

const checkedFields = (model: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(FIELDS).flatMap(([name, check]) => {
      const value = model[name];
      const checked = value === undefined || value === null ? undefined : check(value);
      return checked === undefined ? [] : [[name, checked]];
    }),
  );
