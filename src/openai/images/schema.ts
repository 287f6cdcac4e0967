import { z } from 'zod';

import { jsonObject, listOf } from '../../apis/bounds.ts';

/** OpenAI's limits. */
const MAX_PROMPT = 32_000;
const MAX_IMAGES = 10;
const MAX_INPUT_IMAGES = 16;

/** Supported values depend on the image model, so the backend checks them. */
const word = z.string().min(1).max(100);

const imageFields = {
  prompt: z.string().min(1).max(MAX_PROMPT),
  model: word.nullish(),
  n: z.int().min(1).max(MAX_IMAGES).nullish(),
  size: word.nullish(),
  quality: word.nullish(),
  background: word.nullish(),
  output_format: word.nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  moderation: word.nullish(),
  complexity: word.nullish(),
  frame_count: z.int().min(1).nullish(),
  frame_duration_ms: z.int().min(1).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  stream: z.boolean().nullish(),
  partial_images: z.int().min(0).max(3).nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
};

/** `CreateImageRequest`. Every key here needs a row in `parameters.ts`: the compiler asks for it. */
export const createImageSchema = z.object({
  ...imageFields,
  style: word.nullish(),
  svg: jsonObject.nullish(),
});

const imageRef = z.object({ image_url: z.string().nullish(), file_id: z.string().nullish() });

/** `EditImageBodyJsonParam`; a form uses `image` instead of `images`. */
export const editImageSchema = z.object({
  ...imageFields,
  images: listOf(imageRef, MAX_INPUT_IMAGES).nullish(),
  image: listOf(imageRef, MAX_INPUT_IMAGES).nullish(),
  mask: imageRef.nullish(),
  input_fidelity: word.nullish(),
});

export type CreateImage = z.output<typeof createImageSchema>;
export type EditImage = z.output<typeof editImageSchema>;
export type ImageRef = z.output<typeof imageRef>;
