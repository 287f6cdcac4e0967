/** Why a server without a store finds nothing, for messages. */
export const STORES_NOTHING = 'This server stores nothing (PROXY_STORE=off)';
