import { gatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';

/** Throws if the value is invalid. An absent or empty one is false. */
export const readQueryFlag = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name) ?? '';
  const lower = value.toLowerCase();
  if (lower === 'true') return true;
  if (lower === 'false' || lower === '') return false;
  throw gatewayError('invalid_type', {
    param: name,
    message: `Invalid type for '${name}': expected a boolean, but got '${quoted(value)}' instead.`,
  });
};
