/** Text that a shell reads back as it is: PowerShell on Windows, else the shells of Unix. */
export const shellQuoted = (text: string, platform: string): string => {
  if (platform === 'win32') return `'${text.replaceAll("'", "''")}'`;
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};
