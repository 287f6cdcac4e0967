const KEEPALIVES = new Set(['keepalive', 'ping']);

/** Whether an event is only a keepalive, like an SSE comment. */
export const isKeepalive = (type: string | null): boolean => type !== null && KEEPALIVES.has(type);
