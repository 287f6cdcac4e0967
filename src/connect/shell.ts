import type { Variables } from './client.ts';

/** How each shell sets a variable. The values are quoted, so that none is expanded. */
const LINES = {
  posix: (name: string, value: string) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  fish: (name: string, value: string) =>
    `set -gx ${name} '${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`,
  powershell: (name: string, value: string) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
} as const;

export type Shell = keyof typeof LINES;

export const SHELLS = Object.keys(LINES) as readonly Shell[];

export const isShell = (name: string): name is Shell => Object.hasOwn(LINES, name);

/** The shell that most likely reads the lines. */
export const usualShell = (
  environment: Readonly<Record<string, string | undefined>>,
  platform: string,
): Shell => {
  if (/\bfish$/.test(environment['SHELL'] ?? '')) return 'fish';
  return platform === 'win32' ? 'powershell' : 'posix';
};

export const shellLines = (variables: Variables, shell: Shell): string =>
  Object.entries(variables)
    .map(([name, value]) => `${LINES[shell](name, value)}\n`)
    .join('');
