import { expect, it } from 'vitest';

import { createLogger } from '../observe/log.ts';
import { logLines } from './log-lines.ts';

type Format = Parameters<typeof logLines>[1];

const written = (format: Format, isTerminal: boolean, environment: Record<string, string> = {}): string => {
  let text = '';
  const sink = { write: (line: string) => void (text += line) };
  createLogger({
    level: 'info',
    destination: logLines(sink, format, { environment }, isTerminal),
  }).info('starting');
  return text.replace(/^\[[\d:]+\]/, 'TIME').replace(/"time":"[^"]*"/, '"time":"TIME"');
};

const JSON_LINE = '{"level":"info","time":"TIME","msg":"starting"}\n';
const PLAIN = 'TIME INFO: starting\n';
const COLOURED = 'TIME \u001b[32mINFO\u001b[39m: \u001b[36mstarting\u001b[39m\n';

it.each<readonly [Format, boolean, Record<string, string>, string]>([
  ['auto', true, {}, COLOURED],
  ['auto', true, { NO_COLOR: '1' }, PLAIN],
  ['auto', true, { NO_COLOR: '' }, COLOURED],
  ['auto', false, {}, JSON_LINE],
  ['pretty', false, {}, PLAIN],
  ['json', true, {}, JSON_LINE],
])('format %s, terminal %j, environment %j', (format, isTerminal, environment, expected) => {
  expect(written(format, isTerminal, environment)).toBe(expected);
});
