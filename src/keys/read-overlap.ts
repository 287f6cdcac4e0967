import { gatewayError } from '../canonical/failure/failure.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { quoted } from '../kit/text/quote.ts';

const DAY_SECONDS = 24 * 60 * 60;
const MAX_DAYS = 90;

/** How long earlier secrets work after a rotation, in milliseconds: `overlap_seconds`, or a day. */
export const readOverlap = ({ overlap_seconds: seconds = DAY_SECONDS, ...others }: JsonObject): number => {
  readNothing(others);
  if (!Number.isSafeInteger(seconds) || Number(seconds) < 0 || Number(seconds) > MAX_DAYS * DAY_SECONDS) {
    throw gatewayError('invalid_value', {
      param: 'overlap_seconds',
      message: `Invalid 'overlap_seconds': expected a whole number from 0 to ${MAX_DAYS * DAY_SECONDS}, which is ${MAX_DAYS} days.`,
    });
  }
  return Number(seconds) * 1000;
};

/** Throws a 400 for the first field. */
export const readNothing = (fields: JsonObject): void => {
  const [name] = Object.keys(fields);
  if (name === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param: quoted(name),
    message: `Unknown parameter: '${quoted(name)}'.`,
  });
};
