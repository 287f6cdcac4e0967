import type { RenewedLogin } from '../../src/codex/relay/transport/renewals.ts';

/** No login to renew. */
export const NO_LOGIN: RenewedLogin = { renewed: async () => {}, successorOf: async () => null };
