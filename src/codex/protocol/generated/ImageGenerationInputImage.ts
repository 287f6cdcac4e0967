// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AbsolutePathBuf } from "./AbsolutePathBuf.ts";

/**
 * A local image file successfully read for this exact image-generation request.
 */
export type ImageGenerationInputImage = { path: AbsolutePathBuf,
/**
 * Lowercase SHA-256 of the file bytes read before image normalization.
 */
sha256: string, };
