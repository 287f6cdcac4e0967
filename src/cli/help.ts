import { SETTINGS } from '../config/schema.ts';
import type { Command } from './command.ts';
import { COMMANDS } from './table.ts';

/** The settings that a newcomer meets first; the others are in the docs. */
const FIRST_SETTINGS = [
  'PORT',
  'PROXY_API_KEY',
  'CODEX_HOME',
  'PROXY_UPSTREAM_BASE_URL',
  'PROXY_UPSTREAM_API_KEY',
  'PROXY_STATE_DIR',
] as const satisfies readonly (keyof typeof SETTINGS)[];

const table = (rows: readonly (readonly [string, string])[]): readonly string[] => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
};

const commandRows = ([name, { summary, flags }]: [string, Command]): (readonly [string, string])[] => [
  [name, summary],
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
    'Settings are environment variables, such as',
    '',
    ...table(FIRST_SETTINGS.map((name) => [name, SETTINGS[name].description] as const)),
    '',
    'All of them: docs/configuration.md',
    '',
  ].join('\n');
