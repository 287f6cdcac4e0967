// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type ModelListParams = {
/**
 * Opaque pagination cursor returned by a previous call.
 */
cursor?: string | null,
/**
 * Optional page size; defaults to a reasonable server-side value.
 */
limit?: number | null,
/**
 * When true, include models that are hidden from the default picker list.
 */
includeHidden?: boolean | null, };
