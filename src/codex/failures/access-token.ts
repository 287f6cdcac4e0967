import { failure, type Failure } from '../../canonical/failure/failure.ts';

/** The service rejected the access token. Nothing but a new one helps. */
export const accessTokenRejected = (): Failure =>
  failure('sign_in_required', {
    message:
      'The access token of this server was rejected: it has expired or was revoked, and cannot be renewed. Its operator has to create a new one, and set CODEX_ACCESS_TOKEN to it or sign in with it.',
  });

/** codex does not use the access token, for an unknown reason. */
export const accessTokenUnconfirmed = (): Failure =>
  failure('account_unavailable', {
    message:
      'The access token of this server could not be checked: its issuer did not confirm it. Please try again shortly.',
  });
