import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { imageHeaderOf, type ImageMediaType } from '../../canonical/tokens/image-header.ts';

export const invalidImage = (message: string, param: string, cause?: unknown): GatewayError =>
  new GatewayError(failure('invalid_image', { message, param }), { cause });

/** What the bytes are, by their header; null when no supported image with a size begins there. */
export const sniffImage = (bytes: Buffer): ImageMediaType | null => imageHeaderOf(bytes)?.mediaType ?? null;
