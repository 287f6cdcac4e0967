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
    return [...packageProgram(invocation), ...(command === 'serve' ? [] : [command]), ...flags];
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

/**
 * The program of an installed package. A name that the shell does not find would be an error, and npx would take it from the
 * registry. So it is a path wherever neither finds this package.
 */
const packageProgram = (invocation: Invocation): readonly string[] => {
  const { script, directory, environment, platform } = invocation;
  const folder = path.dirname(script);
  if (environment['npm_command'] === 'exec' || /[\\/]_npx[\\/]/.test(folder))
    return [...npxOf(invocation), NAME];
  // A command file of Windows starts the script: its own folder is not known.
  if (platform === 'win32') return [NAME];
  const project = /^(.*)\/node_modules\/\.bin$/.exec(folder)?.[1];
  if (project !== undefined) {
    const isInside = !path.relative(project, directory).startsWith('..');
    return isInside ? ['npx', NAME] : [shellQuoted(script, platform)];
  }
  const isOnPath = (environment['PATH'] ?? '').split(path.delimiter).includes(folder);
  if (isOnPath && path.basename(script) === NAME) return [NAME];
  return [...(script.endsWith('.js') ? ['node'] : []), shellQuoted(script, platform)];
};

const setting = (name: string, value: string, platform: string): string =>
  platform === 'win32'
    ? `$env:${name}=${shellQuoted(value, platform)};`
    : `${name}=${shellQuoted(value, platform)}`;
