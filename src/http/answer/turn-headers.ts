const IGNORED_HEADER = 'x-proxy-ignored-params';

/** Headers have a size limit, and names come from clients. */
const MAX_NAMES = 40;

/** The names of parameters without effect, in characters valid in a header. */
export const ignoredHeader = (ignored: readonly string[]): Record<string, string> => {
  if (ignored.length === 0) return {};
  const names = [...new Set(ignored)].map((name) =>
    name.slice(0, 100).replaceAll(/[^\w.[\]-]/g, (char) => encodeURIComponent(char.toWellFormed())),
  );
  const rest = names.length - MAX_NAMES;
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return { [IGNORED_HEADER]: rest > 0 ? `${shown}, and ${rest} more` : shown };
};

const SERVED_MODEL_HEADER = 'x-proxy-served-model';

/** Names the model that answered if it is not the requested one, in characters valid in a header. */
export const servedModelHeader = (model: string | undefined): Record<string, string> =>
  model === undefined
    ? {}
    : {
        [SERVED_MODEL_HEADER]: model
          .slice(0, 200)
          .replaceAll(/[^\w./:@-]/g, (char) => encodeURIComponent(char.toWellFormed())),
      };
