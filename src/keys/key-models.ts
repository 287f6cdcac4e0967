import type { ModelInfo, ModelNames } from '../canonical/models/model-names.ts';
import type { ApiKey } from './key.ts';
import { mayUseModel } from './key-policy.ts';

/** The names as a key sees them: only those of models that it may use. `key`: null has no policy. */
export const namesFor = (names: ModelNames, key: Pick<ApiKey, 'models'> | null): ModelNames => {
  if (key === null || key.models.length === 0) return names;
  const allowed = (models: readonly ModelInfo[]) => models.filter(({ id }) => mayUseModel(key, id));
  return {
    ...names,
    all: names.all.filter(({ meaning }) => mayUseModel(key, meaning.model)),
    list: { ...names.list, models: allowed(names.list.models), unlisted: allowed(names.list.unlisted) },
    find(name) {
      const found = names.find(name);
      return found !== null && mayUseModel(key, found.meaning.model) ? found : null;
    },
  };
};
