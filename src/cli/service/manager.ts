import path from 'node:path';
import { execFile } from 'node:child_process';

import { SERVICE_NAME, type ReadDefinition, type ServiceDefinition, MARKER } from './task.ts';

/** How a program of the system ended. */
interface ToolResult {
  /** Null: it could not be started, or took too long. */
  readonly code: number | null;
  readonly out: string;
  /** Why it failed, in its own words or in ours. */
  readonly problem: string;
}

export type RunTool = (words: readonly string[], limitMs?: number) => Promise<ToolResult>;

const LIMIT_MS = 15_000;

/** Runs programs such as systemctl, with a time limit, and with English output. */
export const toolsIn =
  (environment: Readonly<Record<string, string | undefined>>): RunTool =>
  ([program = '', ...words], limitMs = LIMIT_MS) =>
    new Promise((resolve) => {
      const env = { ...environment, LC_ALL: 'C' };
      const options = { env, timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: 1_000_000 } as const;
      execFile(program, words, options, (error, out, err) => {
        if (error === null) return resolve({ code: 0, out, problem: '' });
        const { code } = error;
        if (code === 'ENOENT') return resolve({ code: null, out, problem: `there is no ${program} here` });
        return error.killed === true
          ? resolve({ code: null, out, problem: `no answer within ${limitMs / 1000} s` })
          : resolve({
              code: typeof code === 'number' ? code : null,
              out,
              problem: err.trim() || error.message,
            });
      });
    });

/** A launchd agent of a user. `home` is its working directory; both outputs go to `log`. */
export const launchdAgent = (
  { node, script, variables, stopSeconds }: ServiceDefinition,
  { home, log }: { readonly home: string; readonly log: string },
): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<!-- ${MARKER}; service uninstall removes it. -->`,
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    ...entry('Label', string(SERVICE_NAME)),
    ...entry('ProgramArguments', '<array>', string(node), string(script), '</array>'),
    ...entry(
      'EnvironmentVariables',
      '<dict>',
      ...Object.entries(variables).flatMap(([name, value]) => entry(name, string(value))),
      '</dict>',
    ),
    ...entry('WorkingDirectory', string(home)),
    ...entry('RunAtLoad', '<true/>'),
    // Starts it again after a failure.
    ...entry('KeepAlive', '<dict>', ...entry('SuccessfulExit', '<false/>'), '</dict>'),
    ...entry('ThrottleInterval', '<integer>10</integer>'),
    ...entry('ExitTimeOut', `<integer>${stopSeconds}</integer>`),
    ...entry('StandardOutPath', string(log)),
    ...entry('StandardErrorPath', string(log)),
    '</dict>',
    '</plist>',
    '',
  ].join('\n');

const entry = (key: string, ...value: readonly string[]): readonly string[] => [
  `<key>${escaped(key)}</key>`,
  ...value,
];

const string = (text: string): string => `<string>${escaped(text)}</string>`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Reads what `launchdAgent` wrote. */
export const readLaunchdAgent = (text: string): ReadDefinition => {
  const [, words = ''] = /<key>ProgramArguments<\/key>\s*<array>([^]*?)<\/array>/.exec(text) ?? [];
  const [, pairs = ''] = /<key>EnvironmentVariables<\/key>\s*<dict>([^]*?)<\/dict>/.exec(text) ?? [];
  return {
    command: [...words.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word = '']) => unescaped(word)),
    variables: Object.fromEntries(
      [...pairs.matchAll(/<key>([^<]*)<\/key>\s*<string>([^<]*)<\/string>/g)].map(
        ([, name = '', value = '']) => [unescaped(name), unescaped(value)],
      ),
    ),
  };
};

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

/** What a manager knows about the service. Null: it does not say. */
export interface ManagedState {
  readonly enabled: boolean | null;
  readonly running: boolean | null;
  readonly pid: number | null;
  /** In the manager's words. */
  readonly state: string;
}

/** A command of the manager. */
export interface ManagerStep {
  readonly words: readonly string[];
  /** It undoes what may not be there. */
  readonly mayFail?: true;
  /** How often it is tried, a second apart; once by default. */
  readonly attempts?: number;
}

/** The program of the system that runs services for a user. */
export interface ServiceManager {
  readonly kind: 'systemd' | 'launchd';
  /** For people. */
  readonly title: string;
  /** The file that describes the service. */
  readonly file: string;
  /** Links that the manager makes for the file. */
  readonly links: readonly string[];
  text(definition: ServiceDefinition): string;
  read(text: string): ReadDefinition;
  /** Why this definition cannot be written; null: it can. */
  problem(definition: ServiceDefinition): string | null;
  /** Loads the file, and starts or restarts the service, now and at each sign-in. */
  readonly start: readonly ManagerStep[];
  readonly stop: readonly ManagerStep[];
  /** After the file was removed. */
  readonly forget: readonly ManagerStep[];
  /** Where the log is: a command for people. */
  readonly log: string;
  state(run: RunTool): Promise<ManagedState>;
  /** Whether the service goes on after its user has signed out. Null: the manager does not say. */
  lingers(run: RunTool): Promise<boolean | null>;
}

/** The user that the service runs as. */
export interface SystemUser {
  readonly home: string;
  readonly id: number;
  readonly name: string;
}

export interface ServiceUser extends SystemUser {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const UNIT = `${SERVICE_NAME}.service`;
const USER = ['systemctl', '--user'];
const UNKNOWN: ManagedState = { enabled: null, running: null, pid: null, state: '' };

export const systemdManager = ({ home, name, environment }: ServiceUser): ServiceManager => {
  const configured = environment['XDG_CONFIG_HOME'] ?? '';
  // A relative one has no meaning.
  const config = path.posix.isAbsolute(configured) ? configured : path.posix.join(home, '.config');
  const folder = path.posix.join(config, 'systemd/user');
  return {
    kind: 'systemd',
    title: 'systemd user unit',
    file: path.posix.join(folder, UNIT),
    links: [path.posix.join(folder, 'default.target.wants', UNIT)],
    text: systemdUnit,
    read: readSystemdUnit,
    problem: ({ node }) =>
      /["'\\]/.test(node) ? `systemd runs no program with quotes or backslashes in its path: ${node}` : null,
    start: [
      { words: [...USER, 'daemon-reload'] },
      { words: [...USER, 'reset-failed', UNIT], mayFail: true },
      { words: [...USER, 'enable', UNIT] },
      { words: [...USER, 'restart', UNIT] },
    ],
    stop: [{ words: [...USER, 'disable', '--now', UNIT], mayFail: true }],
    forget: [
      { words: [...USER, 'daemon-reload'], mayFail: true },
      { words: [...USER, 'reset-failed', UNIT], mayFail: true },
    ],
    log: `journalctl --user --unit ${SERVICE_NAME} --follow`,
    async state(run) {
      const { code, out, problem } = await run([
        ...USER,
        'show',
        UNIT,
        '--property=UnitFileState,ActiveState,SubState,MainPID,Result',
      ]);
      if (code !== 0) return { ...UNKNOWN, state: problem };
      const facts = new Map(out.split('\n').map((line) => splitAt(line, '=')));
      const active = facts.get('ActiveState') ?? '';
      const result = facts.get('Result') ?? 'success';
      return {
        enabled: facts.get('UnitFileState') === 'enabled',
        running: active === 'active',
        pid: processId(facts.get('MainPID')),
        state: `${active} (${facts.get('SubState') ?? ''})${result === 'success' ? '' : `, ${result}`}`,
      };
    },
    async lingers(run) {
      const { code, out } = await run(['loginctl', 'show-user', name, '--property=Linger']);
      return code === 0 ? out.trim() === 'Linger=yes' : null;
    },
  };
};

export const launchdManager = ({ home, id }: ServiceUser): ServiceManager => {
  const domain = `gui/${id}`;
  const target = `${domain}/${SERVICE_NAME}`;
  const file = path.posix.join(home, 'Library/LaunchAgents', `${SERVICE_NAME}.plist`);
  const log = path.posix.join(home, 'Library/Logs', `${SERVICE_NAME}.log`);
  return {
    kind: 'launchd',
    title: 'launchd agent',
    file,
    links: [],
    text: (definition) => launchdAgent(definition, { home, log }),
    read: readLaunchdAgent,
    problem: () => null,
    start: [
      { words: ['launchctl', 'bootout', target], mayFail: true },
      { words: ['launchctl', 'enable', target] },
      // Fails while an earlier process still ends.
      { words: ['launchctl', 'bootstrap', domain, file], attempts: 40 },
    ],
    stop: [{ words: ['launchctl', 'bootout', target], mayFail: true }],
    forget: [],
    log: `tail -f ${log}`,
    async state(run) {
      const { code, out, problem } = await run(['launchctl', 'print', target]);
      if (code !== 0) return { ...UNKNOWN, enabled: false, running: false, state: problem };
      const fact = (name: string): string | undefined =>
        new RegExp(`^\\s*${name} = (.+)$`, 'm').exec(out)?.[1];
      const state = fact('state') ?? '';
      const exit = fact('last exit code');
      return {
        enabled: true,
        running: state === 'running',
        pid: processId(fact('pid')),
        state: exit === undefined ? state : `${state}, last exit code ${exit}`,
      };
    },
    lingers: async () => null,
  };
};

const splitAt = (line: string, separator: string): readonly [string, string] => {
  const index = line.indexOf(separator);
  return [line.slice(0, index), line.slice(index + separator.length)];
};

const processId = (text: string | undefined): number | null => {
  const id = Number(text ?? 0);
  return Number.isInteger(id) && id > 0 ? id : null;
};
