import { isJsonObject, type Json } from '../../src/kit/json/json.ts';
import { apiError, detail, firstAnswer, inputItems, inputParts, isCodexFormatModel } from './rule.ts';
import type { Rule, Seen } from './rule.ts';

const REFUSED_PARAMETERS = [
  'max_output_tokens',
  'temperature',
  'top_p',
  'metadata',
  'truncation',
  'user',
  'safety_identifier',
  'prompt_cache_retention',
  'prompt_cache_options',
  'context_management',
  'background',
  'previous_response_id',
];

/** What codex itself sends, and what others saw accepted. Everything else is unknown. */
const KNOWN_PARAMETERS = new Set([
  'model',
  'instructions',
  'input',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'store',
  'stream',
  'stream_options',
  'include',
  'service_tier',
  'prompt_cache_key',
  'text',
  'client_metadata',
]);

/** What other clients send there, and codex itself. */
const FULL_TOOLS = new Set<Json | undefined>([
  'function',
  'custom',
  'namespace',
  'tool_search',
  'web_search',
  'image_generation',
]);

const unsupported = (name: string): ReturnType<typeof detail> => detail(`Unsupported parameter: ${name}`);

const refusedParameter = (name: string): Rule => ({
  id: `parameter.${name}`,
  confidence: 'A',
  requestFormat: 'both',
  on: name === 'previous_response_id' ? ['post'] : ['post', 'frame'],
  breaks: ({ body }) => (body[name] === undefined ? null : unsupported(name)),
});

const opensWithDeveloper = ({ body }: Seen): boolean => inputItems(body)[0]?.item['role'] === 'developer';

const hasInstructions = (seen: Seen): boolean => {
  const { body, settings } = seen;
  // A warm-up brings what is known before the first turn; codex's may be empty.
  if (body['generate'] === false) return true;
  const text = body['instructions'];
  if (text === undefined || text === null)
    return settings.instructionsNeeded === 'or-developer-message' && opensWithDeveloper(seen);
  return true;
};

export const BODY_RULES: readonly Rule[] = [
  {
    id: 'model.supported',
    confidence: 'A',
    requestFormat: 'both',
    onlyFoundByTrying: true,
    breaks: ({ model, settings }) => {
      const known = settings.unlistedModels.has(model) || settings.models.some(({ slug }) => slug === model);
      return known && !settings.modelsNotInPlan.has(model)
        ? null
        : detail(`The '${model}' model is not supported when using Codex with a ChatGPT account.`);
    },
  },
  {
    id: 'store',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => (body['store'] === false ? null : detail('Store must be set to false')),
  },
  {
    id: 'stream',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => (body['stream'] === true ? null : detail('Stream must be set to true')),
  },
  {
    id: 'input',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) => (Array.isArray(body['input']) ? null : detail('Input must be a list')),
  },
  {
    id: 'instructions.required',
    confidence: 'A',
    requestFormat: 'responses',
    breaks: (seen) => (hasInstructions(seen) ? null : detail('Instructions are required')),
  },
  {
    id: 'instructions.empty',
    confidence: 'B',
    requestFormat: 'responses',
    onlyFoundByTrying: true,
    breaks: ({ body, settings }) =>
      settings.emptyInstructions === 'missing' && body['instructions'] === ''
        ? detail('Instructions are required')
        : null,
  },
  {
    id: 'instructions.valid',
    confidence: 'B',
    requestFormat: 'responses',
    onlyFoundByTrying: true,
    breaks: ({ body, settings }) =>
      typeof body['instructions'] === 'string' && !settings.isValidInstructions(body['instructions'])
        ? detail('Instructions are not valid')
        : null,
  },
  ...REFUSED_PARAMETERS.map(refusedParameter),
  {
    id: 'parameter.prompt_cache_breakpoint',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ body }) =>
      firstAnswer([...inputItems(body), ...inputParts(body)], ({ item }) =>
        item['prompt_cache_breakpoint'] === undefined ? null : unsupported('prompt_cache_breakpoint'),
      ),
  },
  {
    id: 'parameter.service_tier',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ body }) =>
      body['service_tier'] === undefined || body['service_tier'] === 'priority'
        ? null
        : detail(`Unsupported service_tier: ${JSON.stringify(body['service_tier'])}`),
  },
  {
    id: 'parameter.unknown',
    confidence: 'C',
    requestFormat: 'both',
    breaks: ({ body, carrier }) =>
      firstAnswer(Object.keys(body), (name) =>
        KNOWN_PARAMETERS.has(name) ||
        (carrier === 'frame' && name === 'generate') ||
        REFUSED_PARAMETERS.includes(name)
          ? null
          : unsupported(name),
      ),
  },
  {
    id: 'prompt_cache_key.length',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ body }) => {
      const key = body['prompt_cache_key'];
      return typeof key === 'string' && key.length > 64 ? tooLong('prompt_cache_key', key) : null;
    },
  },
  {
    id: 'effort.minimal',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ body, model }) =>
      isJsonObject(body['reasoning']) && body['reasoning']['effort'] === 'minimal'
        ? apiError(
            `Unsupported value: 'minimal' is not supported with the '${model}' model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.`,
            { param: 'reasoning.effort', code: 'unsupported_value' },
          )
        : null,
  },
  {
    id: 'tools.type',
    confidence: 'B',
    requestFormat: 'responses',
    breaks: ({ body }) =>
      firstAnswer(Array.isArray(body['tools']) ? body['tools'] : [], (tool) =>
        isJsonObject(tool) && FULL_TOOLS.has(tool['type'])
          ? null
          : detail(`Unsupported tool type: ${JSON.stringify(isJsonObject(tool) ? tool['type'] : tool)}`),
      ),
  },
  {
    id: 'lane.full-for-lite-model',
    confidence: 'B',
    requestFormat: 'responses',
    onlyFoundByTrying: true,
    breaks: ({ model, settings }) =>
      settings.responsesFormatForCodexModels === 'refused' && isCodexFormatModel(settings, model)
        ? detail(`The '${model}' model is only available with responses lite.`)
        : null,
  },
];

export const tooLong = (param: string, value: string): ReturnType<typeof apiError> =>
  apiError(
    `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${String(value.length)} instead.`,
    { param, code: 'string_above_max_length' },
  );
