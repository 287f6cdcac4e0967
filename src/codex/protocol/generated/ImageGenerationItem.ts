// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AbsolutePathBuf } from "./AbsolutePathBuf.ts";
import type { ImageGenerationFailure } from "./ImageGenerationFailure.ts";
import type { ImageGenerationInputImage } from "./ImageGenerationInputImage.ts";

export type ImageGenerationItem = { id: string, status: string, revisedPrompt: string | null, transparentBackground?: boolean, failure: ImageGenerationFailure | null, savedPath?: AbsolutePathBuf,
/**
 * Observed local inputs for a completed generation, absent on older items.
 */
inputImages?: Array<ImageGenerationInputImage>,
/**
 * Image generation identifier for the generated image, when provided by the image backend.
 */
generationId: string | null, } & ({ fileId: string, } | { result: string, });
