import {
  createModelNames,
  type ModelAliases,
  type ModelList,
  type ModelNames,
} from '../canonical/models/model-names.ts';

/** Where the models come from: codex's own catalogue, the list of an account, or that of a provider. */
export interface ModelSource {
  /** Never fails, and waits a few seconds at the most. The same object as long as nothing has changed. */
  models(): Promise<ModelList>;
}

export interface ModelDirectory {
  names(): Promise<ModelNames>;
}

export const createModelDirectory = (source: ModelSource, aliases: ModelAliases): ModelDirectory => {
  let known: { readonly list: ModelList; readonly names: ModelNames } | null = null;
  return {
    async names() {
      const list = await source.models();
      if (known?.list !== list) known = { list, names: createModelNames(list, aliases) };
      return known.names;
    },
  };
};
