// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

/**
 * Display item emitted by the interruptible `clock.sleep` tool.
 */
export type SleepItem = { id: string, durationMs: number, };
