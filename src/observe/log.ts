import { pino, stdTimeFunctions } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { redactFields, redactText } from './redact.ts';

/** Without `child`, whose bindings would go round the redaction: ids are given with each line. */
export type Logger = Pick<PinoLogger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'>;

export interface LogOptions {
  readonly level: string;
  /** Standard output unless a test wants to read the lines. */
  readonly destination?: DestinationStream;
}

/**
 * One JSON object per line. Secrets are hidden by rule and in one place: fields by their name,
 * then the finished line by the look of a key, so that no caller has to think of it.
 */
export const createLogger = ({ level, destination }: LogOptions): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      // Errors are plain by then; pino would make them over again.
      serializers: { err: (value: unknown) => value },
      hooks: { streamWrite: redactText },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
