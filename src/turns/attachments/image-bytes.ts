import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { imageHeaderOf, type ImageMediaType } from '../../canonical/tokens/image-header.ts';

export const invalidImage = (message: string, param: string, cause?: unknown): GatewayError =>
  new GatewayError(failure('invalid_image', { message, param }), { cause });

/** The image type by its header; null unless a supported image with a size begins here. */
export const sniffImage = (bytes: Buffer): ImageMediaType | null => imageHeaderOf(bytes)?.mediaType ?? null;
