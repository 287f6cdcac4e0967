import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../kit/json/json.ts';
import type { ItemStep } from './step.ts';

export interface DrawnImage {
  /** In base64; null: it was not drawn. */
  readonly result: string | null;
  /** In base64. */
  readonly previews?: readonly string[];
  /** What the item says besides: its size, why it was not drawn. */
  readonly said?: JsonObject;
}

/** An image that a tool of the backend draws. */
export const imageStep = ({ result, previews = [], said = {} }: DrawnImage): ItemStep => {
  const type = 'image_generation_call';
  const head = { id: `ig_${randomUUID().replaceAll('-', '')}`, type };
  const { size, quality, background, output_format } = said;
  const tell = (what: string, more: JsonObject = {}) => ({ type: `response.${type}.${what}`, ...more });
  return {
    begun: { ...head, status: 'in_progress', result: null },
    said: [
      tell('in_progress'),
      tell('generating'),
      ...previews.map((preview, index) =>
        tell('partial_image', {
          partial_image_index: index,
          partial_image_b64: preview,
          size,
          quality,
          background,
          output_format,
        }),
      ),
      ...(result === null ? [] : [tell('completed')]),
    ],
    item: { ...head, status: result === null ? 'failed' : 'completed', ...said, result },
  };
};
