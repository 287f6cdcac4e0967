import { isatty } from 'node:tty';

import type { Config } from '../config/schema.ts';
import type { LogSink } from '../observe/log-sink.ts';
import { createPrettyLine } from '../observe/pretty-log.ts';
import type { CommandContext } from './command.ts';

const STANDARD_OUTPUT = 1;

/** Formats log lines as configured: for people in a terminal, as JSON for programs. */
export const logLines = (
  sink: Pick<LogSink, 'write'>,
  format: Config['log']['format'],
  { environment }: Pick<CommandContext, 'environment'>,
  isTerminal = isatty(STANDARD_OUTPUT),
): Pick<LogSink, 'write'> => {
  if (format === 'json' || (format === 'auto' && !isTerminal)) return sink;
  // no-color.org: any value but the empty one.
  const colour = isTerminal && (environment['NO_COLOR'] ?? '') === '';
  const pretty = createPrettyLine({ colour });
  return { write: (line) => sink.write(pretty(line)) };
};
