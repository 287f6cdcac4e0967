import { pino, stdTimeFunctions, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { secretHider } from '../kit/text/hide-secrets.ts';
import { redactFields, redactText } from './redact.ts';

/** Without `child`, whose bindings would bypass the redaction. */
export type Logger = Pick<PinoLogger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'>;

/** All that most parts log: what an operator should look at. */
export type WarningLogger = Pick<Logger, 'warn'>;

export interface LogOptions {
  readonly level: string;
  /** Default: lines are discarded. */
  readonly destination?: DestinationStream;
  /** Texts that are hidden wherever they occur. */
  readonly secrets?: readonly string[];
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/**
 * Writes one JSON object per line and never throws. Secrets are redacted here, so that callers need not: fields by name,
 * then the finished line by the pattern of a key.
 */
export const createLogger = ({ level, destination, secrets = [] }: LogOptions): Logger => {
  const hide = secretHider(secrets);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      // Errors are already plain; pino would convert them again.
      serializers: { err: (value: unknown) => value },
      hooks: { streamWrite: (line) => redactText(hide(line)) },
    },
    destination ?? { write() {} },
  );
  return Object.fromEntries(LEVELS.map((name) => [name, shielded(logger, name)])) as unknown as Logger;
};

/** A value that cannot be logged is replaced by a line that says so. */
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
