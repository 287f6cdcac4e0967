/** Quotes text for a shell: PowerShell on Windows, else Unix shells. */
export const shellQuoted = (text: string, platform: string): string => {
  if (platform === 'win32') return `'${text.replaceAll("'", "''")}'`;
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};
