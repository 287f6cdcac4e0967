import { failure, GatewayError } from '../canonical/failure/failure.ts';

export const unavailable = (reason: string, cause?: unknown): GatewayError =>
  new GatewayError(
    failure('store_unavailable', { message: `The database of this server is unavailable: ${reason}.` }),
    { cause },
  );

/** Not one row, but the database as a whole. */
export const damaged = (cause: unknown): GatewayError =>
  new GatewayError(failure('store_corrupt', { message: 'The database of this server is damaged.' }), {
    cause,
  });

/** What no one expected. Clients do not see the message. */
export const unexpected = (cause: unknown): GatewayError =>
  cause instanceof GatewayError ? cause : new GatewayError(failure('server_error'), { cause });
