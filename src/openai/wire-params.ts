import { partsOf, type Item } from '../canonical/item.ts';
import type { WireField, WireParam } from '../canonical/turn-request.ts';
import type { Json } from '../kit/json.ts';

/** Collects what only the request to the backend can carry, under the caller's names. */
export class WireParams {
  readonly list: WireParam[] = [];

  /** `matters` is false for what makes no difference that the caller could see. */
  add(field: WireField, value: Json | undefined, name: string = field, matters = true): void {
    if (value !== undefined && value !== null) this.list.push({ field, value, name, matters });
  }

  addSilent(field: WireField, value: Json | undefined): void {
    this.add(field, value, field, false);
  }

  /**
   * Parts that the app-server would replace by a sentence: an image of low detail, which is sent
   * without its detail instead.
   */
  addInput(items: readonly Item[], places: readonly string[]): void {
    for (const [index, item] of items.entries()) {
      const { field, parts } = partsOf(item);
      for (const [at, part] of parts.entries()) {
        const place = `${places[index]}.${field}[${at}]`;
        if (part.kind === 'image' && part.detail === 'low') this.add('input', 'low', `${place}.detail`);
      }
    }
  }
}

interface Sampling {
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly presence_penalty?: number | null | undefined;
  readonly frequency_penalty?: number | null | undefined;
  readonly seed?: number | null | undefined;
  readonly user?: string | null | undefined;
}

/**
 * How an answer is sampled, the same in every API. A penalty of 0 asks for what happens anyway; so
 * does a temperature of 1, which is passed on all the same.
 */
export const samplingParams = (wire: Sampling): WireParams => {
  const params = new WireParams();
  params.add('temperature', wire.temperature, 'temperature', wire.temperature !== 1);
  params.add('top_p', wire.top_p, 'top_p', wire.top_p !== 1);
  params.add('presence_penalty', wire.presence_penalty === 0 ? null : wire.presence_penalty);
  params.add('frequency_penalty', wire.frequency_penalty === 0 ? null : wire.frequency_penalty);
  params.add('seed', wire.seed);
  params.addSilent('user', wire.user);
  return params;
};
