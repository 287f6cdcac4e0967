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
