import {
  createModelNames,
  type ModelAliases,
  type ModelList,
  type ModelNames,
} from '../canonical/models/model-names.ts';

/** Lists the models of codex's own catalogue, of an account, or of a provider. */
export interface ModelSource {
  /** Never fails, and takes at most a few seconds. Returns the same object until something changes. */
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
