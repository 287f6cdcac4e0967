import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';

/**
 * What every model of the catalogue gets. Defaults that codex would send by itself are emptied, tools
 * are offered as they are, and outputs of tools are not cut.
 */
const CLEAN_FIELDS = {
  tool_mode: 'direct',
  apply_patch_tool_type: null,
  shell_type: 'disabled',
  supports_parallel_tool_calls: true,
  supports_search_tool: false,
  experimental_supported_tools: [],
  multi_agent_version: null,
  // Ours is a limit that no request reaches: codex's own cuts tool outputs at 10,000 tokens.
  truncation_policy: { mode: 'tokens', limit: 10_000_000 },
  base_instructions: '',
  model_messages: null,
  include_skills_usage_instructions: false,
  include_plugin_usage_instructions: false,
  include_apps_usage_instructions: false,
  default_verbosity: null,
  default_reasoning_level: null,
  default_reasoning_summary: 'none',
} as const satisfies JsonObject;

/** Without "audio" codex replaces audio parts by a text. Whether a model can hear is the backend's to say. */
const withAudio = (modalities: Json | undefined): Json => [
  ...new Set([...(Array.isArray(modalities) ? modalities : ['text', 'image']), 'audio']),
];

const cleanModel = (model: JsonObject): JsonObject => {
  const { upgrade: _advice, input_modalities, ...rest } = model;
  return { ...rest, ...CLEAN_FIELDS, input_modalities: withAudio(input_modalities) };
};

/**
 * The JSON of `codex debug models --bundled`, turned into the catalogue for the clean prompt.
 * `use_responses_lite` stays as it is: that is the backend's contract.
 */
export const cleanCatalogue = (bundled: unknown): JsonObject => {
  const models = isJsonObject(bundled) ? bundled['models'] : undefined;
  if (!isJsonObject(bundled) || !Array.isArray(models)) {
    throw new Error('the model catalogue of codex does not have the form that we know');
  }
  return { ...bundled, models: models.filter((model) => isJsonObject(model)).map(cleanModel) };
};
