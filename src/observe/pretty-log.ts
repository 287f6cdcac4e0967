import { prettyFactory } from 'pino-pretty';

import { duration, printable } from '../kit/text/display.ts';

/** Formats a JSON log line for a person. */
export type PrettyLine = (line: string) => string;

interface PrettyOptions {
  readonly colour: boolean;
}

type LogLine = Readonly<Record<string, unknown>>;
type Colours = Readonly<Record<'green' | 'yellow' | 'red' | 'gray', (text: string) => string>>;

/**
 * Formats log lines for a terminal. A request becomes one short line; other lines keep their fields. Text from clients
 * and backends is escaped first: a terminal would interpret control characters.
 */
export const createPrettyLine = ({ colour }: PrettyOptions): PrettyLine => {
  const shared = { colorize: colour, translateTime: 'SYS:HH:MM:ss', singleLine: true } as const;
  const general = prettyFactory(shared);
  const requests = prettyFactory({
    ...shared,
    hideObject: true,
    messageFormat: (log, _messageKey, _level, { colors }) => requestLine(log, colors),
  });
  return (line) => {
    const log = parsed(printable(line));
    if (log === null) return line;
    // pino-pretty omits the line break of a line whose fields are hidden.
    return isRequest(log) ? `${requests(log).trimEnd()}\n` : general(log);
  };
};

const parsed = (line: string): LogLine | null => {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
};

const isRequest = ({ msg, route }: LogLine): boolean => msg === 'request' && typeof route === 'string';

/** `POST /v1/responses 200 in 1.2 s, codex-5, stream, 812 + 64 tokens`; a failure adds its code and the request id. */
const requestLine = (log: LogLine, colours: Colours): string => {
  const { method, route, status, durationMs, model, stream, inputTokens, outputTokens, errorCode } = log;
  const details = [
    `${statusText(Number(status), colours)} in ${duration(Number(durationMs))}`,
    ...(typeof model === 'string' ? [inOneLine(model)] : []),
    ...(stream === true ? ['stream'] : []),
    ...(typeof inputTokens === 'number' ? [`${inputTokens} + ${Number(outputTokens)} tokens`] : []),
    ...(typeof errorCode === 'string'
      ? [colours.red(inOneLine(errorCode)), colours.gray(inOneLine(String(log['requestId'])))]
      : []),
  ];
  return `${String(method)} ${String(route)} ${details.join(', ')}`;
};

const statusText = (status: number, colours: Colours): string => {
  if (status >= 500) return colours.red(String(status));
  return status >= 400 ? colours.yellow(String(status)) : colours.green(String(status));
};

const inOneLine = (text: string): string => text.replaceAll('\n', String.raw`\n`);
