import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import { assertNever } from '../kit/assert-never.ts';
import { statusOf, type ApiKey } from './key.ts';

/** Why a key cannot be used at this time; null: it can. Only for a caller who has a secret of the key. */
export const refusalFor = (key: ApiKey, now: number): GatewayError | null => {
  const status = statusOf(key, now);
  switch (status) {
    case 'active':
      return null;
    case 'paused':
      return gatewayError('key_paused');
    case 'expired':
      return gatewayError('key_expired');
    case 'revoked':
      return gatewayError('key_revoked');
    default:
      return assertNever(status);
  }
};
