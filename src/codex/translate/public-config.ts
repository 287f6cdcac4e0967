import { isJsonObject, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';

/** Members of codex's configuration that say how it works, and nothing about this machine or its people. */
const SHOWN = [
  'model',
  'review_model',
  'model_provider',
  'model_context_window',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'model_verbosity',
  'service_tier',
  'approval_policy',
  'sandbox_mode',
  'web_search',
  'hide_agent_reasoning',
  'project_doc_max_bytes',
  'thread_unload_delay_secs',
  'include_permissions_instructions',
  'include_environment_context',
  'include_apps_instructions',
  'include_collaboration_mode_instructions',
] as const;

const SHOWN_OF_PROVIDER = [
  'name',
  'wire_api',
  'requires_openai_auth',
  'supports_websockets',
  'request_max_retries',
  'stream_max_retries',
  'stream_idle_timeout_ms',
] as const;

/**
 * What whoever has a key may see of it. A list of what is shown, because what must not be shown grows with every
 * release: addresses, headers, tokens, paths, names of accounts.
 */
export const publicConfig = (config: JsonObject): JsonObject => {
  const { model_providers: providers, features } = config;
  const provider = isJsonObject(providers) ? providers[textIn(config, 'model_provider')] : undefined;
  return {
    ...scalars(config, SHOWN),
    provider: isJsonObject(provider) ? scalars(provider, SHOWN_OF_PROVIDER) : null,
    features: isJsonObject(features)
      ? Object.fromEntries(Object.entries(features).filter(([, value]) => typeof value === 'boolean'))
      : {},
  };
};

const scalars = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, scalar(object[name])]));

/** Where codex comes to have an object in such a place, nobody has looked what is in it. */
const scalar = (value: Json | undefined): Json =>
  value === undefined || typeof value === 'object' ? null : value;
