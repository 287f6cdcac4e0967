/** The app-server drops functions of these names without a word: it has tools of its own that are called so. */
const DROPPED: ReadonlySet<string> = new Set(['exec_command', 'shell_command']);

/**
 * Whether a function of this name would never reach the model, if the app-server were told of it. All the
 * words in its binary were tried, in both directions: there are no others.
 */
export const isReservedToolName = (name: string): boolean =>
  DROPPED.has(name) || name === 'mcp' || name.startsWith('mcp__');
