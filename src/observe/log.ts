import { pino, stdTimeFunctions, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { hideSecrets } from '../kit/text/hide-secrets.ts';
import { redactFields, redactText } from './redact.ts';

/** Without `child`, whose bindings would go round the redaction: ids are given with each line. */
export type Logger = Pick<PinoLogger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'>;

export interface LogOptions {
  readonly level: string;
  /** Where the lines go; nowhere if it is left out. */
  readonly destination?: DestinationStream;
  /** Hidden wherever they stand, whatever they look like. */
  readonly secrets?: readonly string[];
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/**
 * One JSON object per line. Secrets are hidden by rule and in one place: fields by their name,
 * then the finished line by the look of a key, so that no caller has to think of it. No caller has to
 * think of a log that throws either: it does not.
 */
export const createLogger = ({ level, destination, secrets = [] }: LogOptions): Logger => {
  const hide = hideSecrets(secrets);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      // Errors are plain by then; pino would make them over again.
      serializers: { err: (value: unknown) => value },
      hooks: { streamWrite: (line) => redactText(hide(line)) },
    },
    destination ?? { write() {} },
  );
  return Object.fromEntries(LEVELS.map((name) => [name, shielded(logger, name)])) as unknown as Logger;
};

/** What cannot be logged leaves a line that says so, as far as that can be written. */
const shielded =
  (logger: PinoLogger, name: (typeof LEVELS)[number]) =>
  (...line: Parameters<PinoLogger['info']>): void => {
    try {
      logger[name](...line);
    } catch {
      try {
        logger[name]('log line that cannot be serialised');
      } catch {
        // Logging must not fail a request.
      }
    }
  };
