import type { RenewedLogin } from '../../src/codex/relay/transport/renewals.ts';

/** There is no login that could be renewed. */
export const NO_LOGIN: RenewedLogin = { renewed: async () => {}, successorOf: async () => null };
