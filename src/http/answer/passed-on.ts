const responses = new WeakSet<Response>();

/**
 * A response whose body comes from another server. It is written piece by piece, and breaks off if the body does: Hono's
 * adapter would end a body that fails early as if it were complete.
 */
export const passedOn = (
  body: ReadableStream<Uint8Array>,
  init: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response => {
  const response = new Response(body, init);
  responses.add(response);
  return response;
};

export const isPassedOn = (response: Response): boolean => responses.has(response);
