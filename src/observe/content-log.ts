import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { Logger } from './log.ts';
import type { TurnObserver } from './observer.ts';

/** Images and files are long and useless in a log. */
const MAX_TEXT = 4000;

const clip = (value: unknown): unknown => {
  if (typeof value === 'string') {
    return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map(clip);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, clip(inner)]));
};

/** Logs requests and answers. The only place that logs content; created only if `PROXY_LOG_CONTENT` is true. */
export const contentLog = (
  logger: Logger,
  requestId: string,
  requests: readonly TurnRequest[],
  choices: number,
): TurnObserver => {
  let turns = 0;
  return {
    onStart() {
      // Turns start in the order of their answers.
      const request = requests[Math.floor(turns / choices)];
      turns += 1;
      if (request === undefined) return;
      const { instructions, items } = request;
      logger.info({ requestId, content: clip({ instructions, items }) }, 'turn asked');
    },
    onEvent(event) {
      if (event.type !== 'item-ended') return;
      logger.info({ requestId, content: clip(event.item) }, 'turn answered');
    },
  };
};
