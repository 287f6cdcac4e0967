import { jsonBytesSteps } from '../../kit/json/json-bytes.ts';
import { isHeavy } from '../../kit/json/json-writer.ts';
import { runSliced } from '../../kit/async/event-loop.ts';

const LONG_CHARS = 64 * 1024;

/** A JSON response. A large one is serialised in slices. */
export const jsonResponse = async (
  value: unknown,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> =>
  isHeavy(value, LONG_CHARS)
    ? new Response(await runSliced(jsonBytesSteps(value), signal), {
        headers: { 'content-type': 'application/json', ...headers },
      })
    : Response.json(value, { headers });
