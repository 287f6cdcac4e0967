import type { CacheSettings, Sampling } from '../../canonical/request/turn-request.ts';
import type { CacheFields, SamplingFields } from './field-schemas.ts';

type MaybeNumber = number | null | undefined;

/** A penalty of 0 is the default and not passed on. A temperature of 1 is, because some models have another default. */
export const readSampling = (body: SamplingFields & { readonly seed?: MaybeNumber }): Sampling => ({
  temperature: body.temperature ?? null,
  topP: body.top_p ?? null,
  presencePenalty: unlessZero(body.presence_penalty),
  frequencyPenalty: unlessZero(body.frequency_penalty),
  seed: body.seed ?? null,
});

export const readCache = (body: CacheFields): CacheSettings => ({
  key: body.prompt_cache_key ?? null,
  retention: body.prompt_cache_retention ?? null,
  options: body.prompt_cache_options ?? null,
});

/** For numbers whose default is 0. */
export const unlessZero = (value: MaybeNumber): number | null => (value === 0 ? null : (value ?? null));
