import type { Config } from '../config/schema.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createThreadedGuide } from '../schemas/threaded-guide.ts';
import { createThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';
import { createFormatChecks, type FormatChecksOptions } from '../turns/format/check-format.ts';

/** Limits of every job, where they differ from the usual ones. */
export type ThreadTimes = NonNullable<FormatChecksOptions['times']>;

interface OpenThreadsDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly times: ThreadTimes | undefined;
}

/** Worker threads for work whose length a client decides. */
export const openThreads = (config: Config, { logger, metrics, times = {} }: OpenThreadsDeps) => {
  const tokenizer = createThreadedTokenizer({
    times,
    onGuess: (reason) => {
      metrics.tokenGuesses.inc();
      logger.warn({ reason }, 'token count estimated');
    },
  });
  const guide = createThreadedGuide({
    times,
    clock: systemAmbient.clock,
    onUnexplained: (reason) => {
      metrics.toolsUnexplained.inc({ reason });
      logger.warn({ reason }, 'tool described in prose without parameter docs');
    },
  });
  if (config.api.toolTransport.some(({ choice }) => choice === 'prose')) guide.warmUp();
  const formats = createFormatChecks({
    times,
    clock: systemAmbient.clock,
    onUnchecked: (reason) => {
      metrics.formatUnchecked.inc({ reason });
      logger.warn({ reason }, 'answer not checked against the requested schema');
    },
  });
  return {
    tokenizer,
    guide,
    formats,
    async close() {
      await Promise.all([formats.close(), tokenizer.close(), guide.close()]);
    },
  };
};
