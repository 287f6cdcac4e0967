import { MARKER, type ReadDefinition, type ServiceDefinition } from './definition.ts';

/** A unit for the systemd manager of a user. */
export const systemdUnit = ({ node, script, variables, stopSeconds }: ServiceDefinition): string =>
  [
    `# ${MARKER}; service uninstall removes it.`,
    '[Unit]',
    'Description=OpenAI-compatible API in front of codex app-server',
    // A wrong setting fails at every start.
    'StartLimitIntervalSec=300',
    'StartLimitBurst=10',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${quoted(node)} ${quoted(script).replaceAll('$', '$$$$')}`,
    ...Object.entries(variables).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    'Restart=on-failure',
    'RestartSec=5',
    // The server ends the app-server itself.
    'KillMode=mixed',
    `TimeoutStopSec=${stopSeconds}`,
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n');

/**
 * Quotes a word. `%` begins a specifier; `$` begins a variable only in the arguments of a command, not in its program and
 * not in `Environment=`.
 */
const quoted = (word: string): string =>
  `"${word.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;

const unquoted = (text: string): string => text.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%');

const WORD = String.raw`"((?:[^"\\]|\\.)*)"`;
const COMMAND = new RegExp(`^ExecStart=${WORD} ${WORD}$`, 'm');
const VARIABLE = new RegExp(`^Environment=${WORD}$`, 'gm');

/** Reads what `systemdUnit` wrote. */
export const readSystemdUnit = (text: string): ReadDefinition => {
  const [, node, script] = COMMAND.exec(text) ?? [];
  return {
    command:
      node === undefined || script === undefined
        ? []
        : [unquoted(node), unquoted(script).replaceAll('$$', '$')],
    variables: Object.fromEntries(
      [...text.matchAll(VARIABLE)].map(([, word = '']) => {
        const [name = '', ...value] = unquoted(word).split('=');
        return [name, value.join('=')];
      }),
    ),
  };
};
