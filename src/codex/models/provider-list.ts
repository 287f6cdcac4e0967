import {
  unknownModel,
  isTextModelName,
  type ModelInfo,
  type ModelList,
} from '../../canonical/models/model-names.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/** Aggregators list some hundred models; bounds the external list. */
const MAX_MODELS = 2_000;
const MAX_NAME = 200;

/**
 * Reads a provider's answer to `GET /models`: OpenAI's `{ data: [{ id }] }`, a bare array, or an object with
 * `models`, of objects or of names. Null if it is not a list, or empty. Adds what codex's own catalogue knows
 * of a model with the same name.
 */
export const readProviderModels = (answer: unknown, bundled: ModelList): ModelList | null => {
  const listed = isJsonObject(answer) ? (answer['data'] ?? answer['models']) : answer;
  if (!Array.isArray(listed)) return null;
  const known = new Map([...bundled.models, ...bundled.unlisted].map((model) => [model.id, model]));
  const found = new Map<string, ListedModel>();
  for (const one of listed.slice(0, MAX_MODELS)) {
    const model = readModel(one, known);
    if (model !== null && !found.has(model.info.id)) found.set(model.info.id, model);
  }
  if (found.size === 0) return null;
  const models = [...found.values()];
  const best = bundled.models.find(({ id }) => found.has(id))?.id;
  const first = models.find(({ isForText }) => isForText) ?? models[0];
  return {
    models: models.map(({ info }) => info),
    standard: best ?? first?.info.id ?? null,
    // Lists are often incomplete, so codex's facts about these models stay available.
    unlisted: [...known.values()].filter(({ id }) => !found.has(id)),
  };
};

interface ListedModel {
  readonly info: ModelInfo;
  readonly isForText: boolean;
}

const readModel = (one: Json, known: ReadonlyMap<string, ModelInfo>): ListedModel | null => {
  const fields: JsonObject = isJsonObject(one) ? one : { id: one };
  const id = [fields['id'], fields['slug'], fields['name'], fields['model']].find((name) => isName(name));
  if (!isName(id)) return null;
  const info = known.get(id) ?? unknownModel(id);
  const part = (name: string): JsonObject => (isJsonObject(fields[name]) ? fields[name] : {});
  const provider = part('top_provider');
  const window = firstCount(
    fields['context_window'],
    fields['context_length'],
    fields['max_model_len'],
    fields['max_context_length'],
    fields['max_input_tokens'],
    provider['context_length'],
  );
  return {
    isForText: isForText(id, fields, part('architecture')),
    info: {
      ...info,
      ownedBy: isName(fields['owned_by']) ? fields['owned_by'] : 'provider',
      created: firstCount(fields['created']),
      contextWindow: window ?? info.contextWindow,
      // The provider's window is the whole one, whatever OpenAI's service allows.
      maxContextWindow: window === null ? info.maxContextWindow : null,
      maxOutputTokens: firstCount(
        fields['max_output_tokens'],
        fields['max_completion_tokens'],
        provider['max_completion_tokens'],
      ),
      inputModalities:
        names(fields['input_modalities'] ?? part('architecture')['input_modalities']) ?? info.inputModalities,
    },
  };
};

const isName = (value: Json | undefined): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_NAME;

const firstCount = (...values: readonly (Json | undefined)[]): number | null => {
  const found = values.find((value) => Number.isSafeInteger(value) && Number(value) > 0);
  return typeof found === 'number' ? found : null;
};

const names = (value: Json | undefined): readonly string[] | null => {
  if (!Array.isArray(value)) return null;
  const found = value.filter((one): one is string => isName(one)).slice(0, 16);
  return found.length === 0 ? null : found;
};

const OTHER_TYPES = /embed|image|audio|video|rerank|moderation|transcri|speech|tts/i;

/** Guesses from the provider's fields, or else from the model name. */
const isForText = (id: string, fields: JsonObject, architecture: JsonObject): boolean => {
  const outputs = names(fields['output_modalities'] ?? architecture['output_modalities']);
  if (outputs !== null) return outputs.includes('text') && isTextModelName(id);
  const type = fields['type'] ?? fields['task'] ?? fields['mode'];
  if (typeof type === 'string' && OTHER_TYPES.test(type)) return false;
  return isTextModelName(id);
};
