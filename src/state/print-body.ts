import { runSliced } from '../kit/async/event-loop.ts';
import { isHeavy, writeJsonSteps } from '../kit/json/json-writer.ts';

/** Beyond this the event loop would notice. */
const LONG_CHARS = 256 * 1024;

/** The JSON text of a row's body. */
export const printed = async (value: object, signal: AbortSignal): Promise<string> =>
  isHeavy(value, LONG_CHARS)
    ? (await runSliced(writeJsonSteps(value), signal)).join('')
    : JSON.stringify(value);
