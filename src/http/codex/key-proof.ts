import { randomBytes } from 'node:crypto';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { isNonce, KEY_PROOF_PATH, proofKeyOf, proofOf } from '../../keys/key-secret.ts';
import type { SignInLimit } from '../console/sign-in-limit.ts';
import { route, type Route } from '../route.ts';

export interface KeyProofRouteDeps {
  /** The keys of the settings, or that of the installation. */
  readonly keys: readonly string[];
  readonly limit: SignInLimit;
}

/**
 * Proves to a program on this machine that this server knows its key. So `connect` sends no key to another program that
 * has taken the port.
 */
export const keyProofRoute = ({ keys, limit }: KeyProofRouteDeps): Route => {
  const salt = randomBytes(16).toString('base64url');
  let derived: Promise<readonly Buffer[]> | null = null;
  return route(`GET ${KEY_PROOF_PATH}`, { access: 'open' }, async ({ url }, exchange) => {
    const address = exchange.reachedAt();
    if (address === null) {
      throw gatewayError('address_not_allowed', {
        message: 'This server proves that it knows its key to programs on its own machine only.',
      });
    }
    const nonce = new URL(url).searchParams.get('nonce') ?? '';
    if (!isNonce(nonce)) {
      throw gatewayError('invalid_value', {
        param: 'nonce',
        message: "Invalid 'nonce': expected 32 random bytes in base64url.",
      });
    }
    limit.enter(exchange.address).succeeded();
    derived ??= Promise.all(keys.map((key) => proofKeyOf(key, salt)));
    const proofs = (await derived).map((key) => proofOf(key, nonce, address));
    return Response.json(
      { object: 'codex.key_proof', salt, address, proofs },
      { headers: { 'cache-control': 'no-store' } },
    );
  });
};
