import {
  projectAnthropicModels as anthropicModels,
  projectAnthropicModel as anthropicModel,
} from '../../anthropic/models.ts';
import { usableNames } from '../../canonical/models/model-names.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import { projectModels, projectOneModel } from '../../openai/models/project.ts';
import { isForAnthropic } from '../answer/error-response.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { modelsForCodex, type OwnPathsDeps } from '../codex/own-paths.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import { route, type Route } from '../route.ts';

export interface ModelRouteDeps {
  readonly models: ModelDirectory;
  /** A key sees only the models that it may use. */
  readonly modelFilter: TurnGate['modelFilter'];
  readonly codex: Pick<OwnPathsDeps, 'codexModels'>;
}

/** The model list, in OpenAI's or Anthropic's form: both APIs have it at this path. */
export const modelListRoute = ({ models, modelFilter, codex }: ModelRouteDeps): Route =>
  route('GET /v1/models', { scopes: INFER_OR_READ }, async (http, exchange) => {
    const { signal } = exchange;
    const mayUse = modelFilter(exchange.caller());
    const names = usableNames(await models.names(), mayUse);
    if (!isForAnthropic(http)) {
      return jsonResponse({ ...projectModels(names), ...modelsForCodex(http, codex, mayUse) }, {}, signal);
    }
    return jsonResponse(anthropicModels(names, new URL(http.url).searchParams), {}, signal);
  });

export const modelRoute = ({ models, modelFilter }: Pick<ModelRouteDeps, 'models' | 'modelFilter'>): Route =>
  route('GET /v1/models/:id{.+}', { scopes: INFER_OR_READ }, async (http, exchange, { id = '' }) => {
    const names = usableNames(await models.names(), modelFilter(exchange.caller()));
    return Response.json(isForAnthropic(http) ? anthropicModel(names, id) : projectOneModel(names, id));
  });
