const SERVED_MODEL_HEADER = 'x-proxy-served-model';

/** Names the model that answered, where that is not the requested one, in characters that a header can carry. */
export const servedModelHeader = (model: string | undefined): Record<string, string> =>
  model === undefined
    ? {}
    : {
        [SERVED_MODEL_HEADER]: model
          .slice(0, 200)
          .replaceAll(/[^\w./:@-]/g, (char) => encodeURIComponent(char.toWellFormed())),
      };
