/** The app-server silently drops functions with these names, because it has tools of its own with them. */
const DROPPED: ReadonlySet<string> = new Set(['exec_command', 'shell_command']);

/**
 * Whether the app-server would drop a function with this name. All words in its binary were tried: there are
 * no others.
 */
export const isReservedToolName = (name: string): boolean =>
  DROPPED.has(name) || name === 'mcp' || name.startsWith('mcp__');
