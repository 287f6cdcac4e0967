import { ALL_SETTINGS } from '../compose/features.ts';
import type { Command } from './read-command-line.ts';
import { COMMANDS } from './table.ts';
import { findCodexBinary } from '../codex/binary.ts';
import { VERSION } from '../version.ts';

/** The everyday settings with the first sentence of their description. */
const everyday = (): readonly (readonly [string, string])[] =>
  Object.entries(ALL_SETTINGS)
    .filter(([, { group }]) => group === 'everyday')
    .map(([name, { description }]) => [name, firstSentence(description)]);

/** Without Markdown links. */
const firstSentence = (text: string): string =>
  (text.split(/(?<=[.])\s/)[0] ?? '').replace(/; see \[[^\]]+\]\([^)]*\)/, '');

const table = (rows: readonly (readonly [string, string])[]): readonly string[] => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
};

const commandRows = ([name, { summary, flags, actions = {}, withoutAction }]: [string, Command]): (readonly [
  string,
  string,
])[] => [
  [name, withoutAction === undefined ? summary : `${summary}; ${withoutAction}`],
  ...Object.entries(actions).map(([action, text]) => [`  ${name} ${action}`, text] as const),
  ...Object.entries(flags).map(([flag, text]) => [`  --${flag}`, text] as const),
];

export const helpText = (): string =>
  [
    'An OpenAI-compatible API in front of the official codex app-server.',
    '',
    'Usage: codex-app-server-proxy [command]',
    '',
    ...table([
      ...Object.entries<Command>(COMMANDS).flatMap(commandRows),
      ['--help', 'this text'],
      ['--version', 'the versions of this server and of codex'],
    ]),
    '',
    'Settings are environment variables, or keys of a config file. Most people need only these:',
    '',
    ...table(everyday()),
    '',
    'All settings, and the config file: docs/configuration.md',
    '',
  ].join('\n');

export const versionText = (): string => `codex-app-server-proxy ${VERSION}, ${codexVersion()}\n`;

/** If codex is missing, the other versions are still printed. */
const codexVersion = (): string => {
  try {
    return `codex ${findCodexBinary().version}`;
  } catch {
    return 'codex not found';
  }
};
