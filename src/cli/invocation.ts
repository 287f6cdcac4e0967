import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ALL_SETTINGS } from '../compose/features.ts';
import { shellQuoted } from '../kit/text/display.ts';

/** How this program was started, which decides the command lines shown to the user. */
export interface Invocation {
  /** The project or package folder. */
  readonly root: string;
  /** A clone runs its TypeScript; an installed package has JavaScript only. */
  readonly isClone: boolean;
  /** The script passed to Node. */
  readonly script: string;
  /** The user's directory. npm scripts run in the project's folder; npm passes the original one in a variable. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

const NAME = 'codex-app-server-proxy';

/** Settings that decide which login a command uses. */
const CARRIED = ['CODEX_HOME', 'PROXY_STATE_DIR', 'PROXY_CONFIG'];

/** Settings that decide where the server listens. */
const ADDRESS = ['PORT', 'PROXY_HOST'];

/** The doctor checks the server's settings, so its command line includes all that may be shown. */
const carriedTo = (command: string): readonly string[] => {
  if (command === 'doctor') return SETTING_NAMES.filter((name) => !isSecret(name));
  return command === 'connect' ? [...ADDRESS, ...CARRIED] : CARRIED;
};

const SETTING_NAMES = Object.keys(ALL_SETTINGS);

const isSecret = (name: string): boolean => ALL_SETTINGS[name]?.secret === true;

const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

/** The settings in effect whose values must not appear on a command line. */
export const secretSettings = (environment: Invocation['environment']): readonly string[] =>
  SETTING_NAMES.filter((name) => isSecret(name) && isSet(environment[name]));

export const thisInvocation = (environment: Invocation['environment']): Invocation => ({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  isClone: import.meta.url.endsWith('.ts'),
  script: process.argv[1] ?? '',
  directory: environment['INIT_CWD'] ?? process.cwd(),
  environment,
  platform: process.platform,
});

/** A command line that runs one of the commands from the user's directory: `npm run login`. */
export const commandLine = (invocation: Invocation, command: string, ...flags: readonly string[]): string => {
  const { environment, platform } = invocation;
  const settings = carriedTo(command).flatMap((name) => {
    const value = environment[name];
    return isSet(value) ? [setting(name, value, platform)] : [];
  });
  return [...settings, ...programOf(invocation, command, flags)].join(' ');
};

const programOf = (invocation: Invocation, command: string, flags: readonly string[]): readonly string[] => {
  if (!invocation.isClone) {
    return [
      ...(isOnPath(invocation) ? [] : npxOf(invocation)),
      NAME,
      ...(command === 'serve' ? [] : [command]),
      ...flags,
    ];
  }
  const isThere = path.resolve(invocation.directory) === path.resolve(invocation.root);
  const npm = isThere
    ? 'npm'
    : `npm --prefix ${shellQuoted(path.resolve(invocation.root), invocation.platform)}`;
  const script = command === 'serve' ? 'start' : `run ${command}`;
  // npm consumes flags unless they follow `--`.
  return [npm, script, ...(flags.length === 0 ? [] : ['--', ...flags])];
};

/** npx with the package that it was given, such as a file: it takes a package without one from the registry, where this one is not. */
const npxOf = ({ environment, platform }: Invocation): readonly string[] => {
  const given = environment['npm_command'] === 'exec' ? environment['npm_config_package'] : undefined;
  // Several packages are several lines.
  return isSet(given) && !given.includes('\n') ? ['npx', '--package', shellQuoted(given, platform)] : ['npx'];
};

/** npx runs the package from its cache; only npx finds the copy in a project. */
const isOnPath = ({ script, environment }: Invocation): boolean =>
  environment['npm_command'] !== 'exec' &&
  !/[\\/](_npx|node_modules[\\/]\.bin)[\\/]/.test(script) &&
  path.basename(script).startsWith(NAME);

const setting = (name: string, value: string, platform: string): string =>
  platform === 'win32'
    ? `$env:${name}=${shellQuoted(value, platform)};`
    : `${name}=${shellQuoted(value, platform)}`;
