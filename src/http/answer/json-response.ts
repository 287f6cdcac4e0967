import { jsonBytesSteps, isHeavy } from '../../kit/json/json-writer.ts';
import { runSliced } from '../../kit/async/event-loop.ts';

const LONG_CHARS = 64 * 1024;

const sizes = new WeakMap<Response, number>();

/** The bytes of a large JSON response; 0 for others, whose number the number of connections limits. */
export const largeBytesOf = (response: Response): number => sizes.get(response) ?? 0;

/** A JSON response. A large one is serialised in slices. */
export const jsonResponse = async (
  value: unknown,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> => {
  if (!isHeavy(value, LONG_CHARS)) return Response.json(value, { headers });
  const bytes = await runSliced(jsonBytesSteps(value), signal);
  const response = new Response(bytes, { headers: { 'content-type': 'application/json', ...headers } });
  sizes.set(response, bytes.byteLength);
  return response;
};
