import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';

/** The error for a URL that is not served. */
export const unknownUrl = (method: string, path: string, hint = ''): GatewayError =>
  gatewayError('unknown_url', { message: `Unknown request URL: ${method} ${quoted(path)}.${hint}` });
