import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { SETTINGS } from '../config/schema.ts';
import type { SettingRow } from '../config/setting-row.ts';
import { shellQuoted } from '../kit/text/shell-quoted.ts';

/** How this program was started: what a person has to type to start it again. */
export interface Invocation {
  /** The project or package folder. */
  readonly root: string;
  /** A clone runs its TypeScript; an installed package has JavaScript only. */
  readonly isClone: boolean;
  /** The file that Node was given. */
  readonly script: string;
  /** Where the person is. npm scripts run in the project's folder, so npm says it in a variable. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

const NAME = 'codex-app-server-proxy';

/** Settings that decide which login a command means. */
const CARRIED = ['CODEX_HOME', 'PROXY_STATE_DIR', 'PROXY_CONFIG'];

/** The doctor checks what the server would do with its settings, so it gets all that may be shown. */
const carriedTo = (command: string): readonly string[] =>
  command === 'doctor' ? SETTING_NAMES.filter((name) => !isSecret(name)) : CARRIED;

const SETTING_NAMES = Object.keys(SETTINGS) as readonly (keyof typeof SETTINGS)[];

const isSecret = (name: keyof typeof SETTINGS): boolean =>
  (SETTINGS as Readonly<Record<string, SettingRow>>)[name]?.secret === true;

const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

/** The settings in force whose values a command line must not show. */
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

/** The command line that runs a command of ours from where the person is: `npm run login`. */
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
    const name = isOnPath(invocation) ? NAME : `npx ${NAME}`;
    return [name, ...(command === 'serve' ? [] : [command]), ...flags];
  }
  const isThere = path.resolve(invocation.directory) === path.resolve(invocation.root);
  const npm = isThere
    ? 'npm'
    : `npm --prefix ${shellQuoted(path.resolve(invocation.root), invocation.platform)}`;
  const script = command === 'serve' ? 'start' : `run ${command}`;
  // npm consumes flags unless they follow `--`.
  return [npm, script, ...(flags.length === 0 ? [] : ['--', ...flags])];
};

/** npx runs it out of a cache of its own; a project's own copy is only found by npx. */
const isOnPath = ({ script, environment }: Invocation): boolean =>
  environment['npm_command'] !== 'exec' &&
  !/[\\/](_npx|node_modules[\\/]\.bin)[\\/]/.test(script) &&
  path.basename(script).startsWith(NAME);

const setting = (name: string, value: string, platform: string): string =>
  platform === 'win32'
    ? `$env:${name}=${shellQuoted(value, platform)};`
    : `${name}=${shellQuoted(value, platform)}`;
