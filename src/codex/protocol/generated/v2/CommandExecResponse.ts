// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

/**
 * Final buffered result for `command/exec`.
 */
export type CommandExecResponse = {
/**
 * Process exit code.
 */
exitCode: number,
/**
 * Buffered stdout capture.
 *
 * Empty when stdout was streamed via `command/exec/outputDelta`.
 */
stdout: string,
/**
 * Buffered stderr capture.
 *
 * Empty when stderr was streamed via `command/exec/outputDelta`.
 */
stderr: string, };
