// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

/**
 * PTY size in character cells for `command/exec` PTY sessions.
 */
export type CommandExecTerminalSize = {
/**
 * Terminal height in character cells.
 */
rows: number,
/**
 * Terminal width in character cells.
 */
cols: number, };
