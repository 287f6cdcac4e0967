import { isJsonObject, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';

/** Configuration keys that describe behaviour and reveal nothing about this machine or its users. */
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
 * The part of the configuration that API callers may see. An allowlist, because secrets are added with every
 * release: addresses, headers, tokens, paths, account names.
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

/** Objects are omitted: their content has not been reviewed. */
const scalar = (value: Json | undefined): Json =>
  value === undefined || typeof value === 'object' ? null : value;
