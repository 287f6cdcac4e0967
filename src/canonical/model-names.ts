/** A model as the app-server lists it. */
export interface ModelInfo {
  readonly id: string;
  readonly efforts: readonly string[];
  readonly isDefault: boolean;
}

export interface ResolvedModel {
  /** The name for the backend. */
  readonly model: string;
  /** The effort that the alias stands for. */
  readonly effort: string | null;
  /** Whether the app-server lists it: some settings reach only models that it knows. */
  readonly listed: boolean;
}

export interface ModelNames {
  /** A name that is neither listed nor an alias goes to the backend as it is. */
  resolve(name: string): ResolvedModel;
  /** Listed models and their aliases, for `/v1/models`. */
  readonly all: readonly string[];
}

/** Names of this family mean "the default model", whatever it is today. */
const FAMILY = 'codex-5';
/** Aliases of models that do not say which efforts they have. */
const USUAL_EFFORTS = ['low', 'medium', 'high', 'xhigh'];

export const createModelNames = (models: readonly ModelInfo[]): ModelNames => {
  const table = new Map<string, ResolvedModel>();
  for (const { id } of models) table.set(id, { model: id, effort: null, listed: true });
  const aliases = (name: string, target: ModelInfo): void => {
    const efforts = target.efforts.length > 0 ? target.efforts : USUAL_EFFORTS;
    for (const effort of efforts) {
      const alias = `${name}-${effort}`;
      if (!table.has(alias)) table.set(alias, { model: target.id, effort, listed: true });
    }
  };
  for (const model of models) aliases(model.id, model);
  const standard = models.find((model) => model.isDefault) ?? models[0];
  if (standard !== undefined) {
    table.set(FAMILY, { model: standard.id, effort: null, listed: true });
    aliases(FAMILY, standard);
  }
  return {
    all: [...table.keys()],
    resolve(name) {
      const found = table.get(name);
      if (found !== undefined) return found;
      if (standard !== undefined && name.startsWith(FAMILY)) {
        const effort = standard.efforts.find((one) => name.endsWith(`-${one}`)) ?? null;
        return { model: standard.id, effort, listed: true };
      }
      return { model: name, effort: null, listed: false };
    },
  };
};
