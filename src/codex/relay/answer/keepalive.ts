const KEEPALIVES = new Set(['keepalive', 'ping']);

/** An event that says only that the connection is there, which a comment does too. */
export const isKeepalive = (type: string | null): boolean => type !== null && KEEPALIVES.has(type);
