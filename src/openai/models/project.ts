import { fail } from '../../canonical/failure.ts';
import type { ModelNames } from '../../canonical/model-names.ts';

/** When a model was made is not known here; OpenAI's schema wants a number. */
const UNKNOWN_TIME = 0;

const projectModel = (id: string) => ({
  id,
  object: 'model' as const,
  created: UNKNOWN_TIME,
  owned_by: 'codex',
});

export const projectModels = (names: ModelNames) => ({
  object: 'list' as const,
  data: names.all.map(projectModel),
});

export const projectOneModel = (names: ModelNames, id: string) => {
  if (!names.all.includes(id)) {
    throw fail('model_not_found', { param: 'model', message: `The model '${id}' does not exist.` });
  }
  return projectModel(id);
};
