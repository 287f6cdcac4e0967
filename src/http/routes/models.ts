import {
  projectModels as anthropicModels,
  projectOneModel as anthropicModel,
} from '../../anthropic/models.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import { projectModels, projectOneModel } from '../../openai/models/project.ts';
import { isForAnthropic } from '../answer/error-form.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { modelsForCodex, type OwnPathsDeps } from '../codex/own-paths.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import type { Route } from '../server.ts';

export interface ModelRouteDeps {
  readonly models: ModelDirectory;
  readonly codex: Pick<OwnPathsDeps, 'codexModels'>;
}

/** The model list, in OpenAI's or Anthropic's form: both APIs have it at this path. */
export const modelListRoute = ({ models, codex }: ModelRouteDeps): Route => ({
  method: 'GET',
  path: '/v1/models',
  access: 'key',
  scopes: INFER_OR_READ,
  async handle(http, { signal }) {
    const names = await models.names();
    if (!isForAnthropic(http)) {
      return jsonResponse({ ...projectModels(names), ...modelsForCodex(http, codex) }, {}, signal);
    }
    return jsonResponse(anthropicModels(names, new URL(http.url).searchParams), {}, signal);
  },
});

export const modelRoute = ({ models }: Pick<ModelRouteDeps, 'models'>): Route => ({
  method: 'GET',
  path: '/v1/models/:id{.+}',
  access: 'key',
  scopes: INFER_OR_READ,
  async handle(http, _exchange, { id = '' }) {
    const names = await models.names();
    return Response.json(isForAnthropic(http) ? anthropicModel(names, id) : projectOneModel(names, id));
  },
});
