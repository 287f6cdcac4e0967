import { systemAmbient } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { ItemStep } from './script-step.ts';

export interface DrawnImage {
  /** Base64; null if drawing failed. */
  readonly result: string | null;
  /** Base64. */
  readonly previews?: readonly string[];
  /** Other fields of the item, such as its size or an error. */
  readonly details?: JsonObject;
}

/** The output of the backend's image generation tool. */
export const imageStep = ({ result, previews = [], details = {} }: DrawnImage): ItemStep => {
  const type = 'image_generation_call';
  const head = { id: systemAmbient.ids.mint('ig'), type };
  const { size, quality, background, output_format } = details;
  const event = (name: string, more: JsonObject = {}) => ({ type: `response.${type}.${name}`, ...more });
  return {
    initial: { ...head, status: 'in_progress', result: null },
    events: [
      event('in_progress'),
      event('generating'),
      ...previews.map((preview, index) =>
        event('partial_image', {
          partial_image_index: index,
          partial_image_b64: preview,
          size,
          quality,
          background,
          output_format,
        }),
      ),
      ...(result === null ? [] : [event('completed')]),
    ],
    item: { ...head, status: result === null ? 'failed' : 'completed', ...details, result },
  };
};
