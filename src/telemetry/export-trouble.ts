import type { DiagLogger } from '@opentelemetry/api';

import type { Clock } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';

/** A receiver that is down fails every few seconds. */
const EVERY_MS = 60_000;
const MAX_CHARS = 500;

/** Logs the trouble of exporters, at most one line a minute, with the number of those before it. */
export const exportTrouble = (logger: Pick<Logger, 'warn'>, clock: Clock): DiagLogger => {
  let loggedAt: number | null = null;
  let unlogged = 0;
  const warn = (message: string, ...more: unknown[]): void => {
    const now = clock.now();
    if (loggedAt !== null && now - loggedAt < EVERY_MS) {
      unlogged += 1;
      return;
    }
    const trouble = [message, ...more.map(textOf)].join(' ').slice(0, MAX_CHARS);
    logger.warn({ trouble, unlogged }, 'telemetry could not be exported');
    loggedAt = now;
    unlogged = 0;
  };
  return { error: warn, warn, info() {}, debug() {}, verbose() {} };
};

const textOf = (value: unknown): string => (value instanceof Error ? value.message : String(value));
