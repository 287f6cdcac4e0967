import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { apiError, detail, firstAnswer, inputItems, inputParts, isCodexFormatModel, textOf } from './rule.ts';
import type { Rule } from './rule.ts';

const CODEX_FORMAT_TOOLS = new Set<Json | undefined>(['function', 'custom', 'tool_search']);

/** codex puts tools into namespaces, including its own `functions`; the members count. */
const flatTools = (tools: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(tools) ? tools : [])
    .filter((tool) => isJsonObject(tool))
    .flatMap((tool) => (tool['type'] === 'namespace' ? flatTools(tool['tools']) : [tool]));

const isForced = (choice: Json | undefined): boolean =>
  choice !== undefined && choice !== 'auto' && choice !== 'none';

const chosenName = (choice: Json | undefined): string =>
  isJsonObject(choice) ? textOf(choice['name'] ?? choice['type']) : textOf(choice);

export const CODEX_FORMAT_RULES: readonly Rule[] = [
  {
    id: 'lane.lite',
    confidence: 'B',
    requestFormat: 'codex',
    onlyFoundByTrying: true,
    breaks: ({ settings }) =>
      settings.codexFormat === 'refused' ? detail('Responses lite is not available.') : null,
  },
  {
    id: 'lite.model',
    confidence: 'A',
    requestFormat: 'codex',
    breaks: ({ model, settings }) =>
      isCodexFormatModel(settings, model)
        ? null
        : detail(`The '${model}' model does not support responses lite.`),
  },
  {
    id: 'lite.parallel_tool_calls',
    confidence: 'A',
    requestFormat: 'codex',
    breaks: ({ body }) =>
      body['parallel_tool_calls'] === false ? null : detail('parallel_tool_calls must be set to false'),
  },
  {
    id: 'lite.reasoning.context',
    confidence: 'A',
    requestFormat: 'codex',
    breaks: ({ body }) =>
      isJsonObject(body['reasoning']) && body['reasoning']['context'] === 'all_turns'
        ? null
        : detail('reasoning.context must be set to all_turns'),
  },
  {
    id: 'lite.tools.place',
    confidence: 'A',
    requestFormat: 'codex',
    breaks: ({ body }) => {
      const misplaced = inputItems(body)
        .slice(1)
        .some(({ item }) => item['type'] === 'additional_tools');
      return misplaced || (Array.isArray(body['tools']) && body['tools'].length > 0)
        ? detail('Unsupported parameter: tools')
        : null;
    },
  },
  {
    id: 'lite.tools.type',
    confidence: 'A',
    requestFormat: 'codex',
    breaks: ({ body }) =>
      firstAnswer(
        inputItems(body).flatMap(({ item }) =>
          item['type'] === 'additional_tools' ? flatTools(item['tools']) : [],
        ),
        (tool) =>
          CODEX_FORMAT_TOOLS.has(tool['type'])
            ? null
            : detail(`Unsupported tool type: ${textOf(tool['type'])}`),
      ),
  },
  {
    id: 'lite.tool_choice',
    confidence: 'B',
    requestFormat: 'codex',
    breaks: ({ body }) =>
      isForced(body['tool_choice'])
        ? apiError(`Tool choice '${chosenName(body['tool_choice'])}' not found in 'tools' parameter.`, {
            param: 'tool_choice',
          })
        : null,
  },
  {
    id: 'lite.image.detail',
    confidence: 'B',
    requestFormat: 'codex',
    breaks: ({ body }) =>
      firstAnswer(inputParts(body), ({ item, at }) =>
        item['type'] === 'input_image' && (item['detail'] ?? null) !== null
          ? apiError(`Unsupported parameter: '${at}.detail'.`, {
              param: `${at}.detail`,
              code: 'unsupported_parameter',
            })
          : null,
      ),
  },
  {
    id: 'full.additional_tools',
    confidence: 'C',
    requestFormat: 'responses',
    breaks: ({ body }) =>
      inputItems(body).some(({ item }) => item['type'] === 'additional_tools') ? 'counted' : null,
  },
];
