import { isKeepalive } from './keepalive.ts';

const NEUTRAL = /^(?:response\.(?:created|in_progress|queued|metadata)|codex\..*|responsesapi\..*)$/;

/** Whether an event comes before the actual answer. Until another one arrives, a request may be sent again. */
export const isNeutral = (type: string | null): boolean =>
  type !== null && (NEUTRAL.test(type) || isKeepalive(type));
