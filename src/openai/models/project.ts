import { gatewayError } from '../../canonical/failure/failure.ts';
import type { ModelName, ModelNames } from '../../canonical/models/model-names.ts';
import { present } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';

/** For models without a creation date: OpenAI's schema requires a number. */
const UNKNOWN_TIME = 0;

/** OpenAI's four fields, and known metadata under the names that gateways and codex use. */
const projectModel = ({ id, info, meaning }: ModelName) => ({
  id,
  object: 'model' as const,
  created: info.created ?? UNKNOWN_TIME,
  owned_by: info.ownedBy,
  ...(id === info.id ? {} : { alias_of: info.id }),
  // Unknown values are omitted, because null would mean "none".
  ...present({
    display_name: info.displayName,
    context_window: info.contextWindow,
    max_context_window: info.maxContextWindow,
    max_output_tokens: info.maxOutputTokens,
    input_modalities: info.inputModalities,
    reasoning_efforts: info.efforts,
    default_reasoning_effort: meaning.effort ?? info.defaultEffort,
    service_tiers: info.serviceTiers,
    default_service_tier: meaning.serviceTier,
  }),
});

export const projectModels = (names: ModelNames) => ({
  object: 'list' as const,
  data: names.all.map(projectModel),
});

export const projectOneModel = (names: ModelNames, id: string) => {
  const found = names.find(id);
  if (found === null) {
    throw gatewayError('model_not_found', {
      param: 'model',
      message: `The model '${quoted(id)}' does not exist.`,
    });
  }
  return projectModel(found);
};
