import type { CacheSettings, Sampling } from '../../canonical/request/turn-request.ts';
import type { JsonObject } from '../../kit/json/json.ts';

type Maybe<Value> = Value | null | undefined;

/** Sampling fields, which several APIs share. */
interface SamplingFields {
  readonly temperature?: Maybe<number>;
  readonly top_p?: Maybe<number>;
  readonly presence_penalty?: Maybe<number>;
  readonly frequency_penalty?: Maybe<number>;
  readonly seed?: Maybe<number>;
}

/** A penalty of 0 is the default and not passed on. A temperature of 1 is, because some models have another default. */
export const readSampling = (body: SamplingFields): Sampling => ({
  temperature: body.temperature ?? null,
  topP: body.top_p ?? null,
  presencePenalty: unlessZero(body.presence_penalty),
  frequencyPenalty: unlessZero(body.frequency_penalty),
  seed: body.seed ?? null,
});

interface CacheFields {
  readonly prompt_cache_key?: Maybe<string>;
  readonly prompt_cache_retention?: Maybe<string>;
  readonly prompt_cache_options?: Maybe<JsonObject>;
}

export const readCache = (body: CacheFields): CacheSettings => ({
  key: body.prompt_cache_key ?? null,
  retention: body.prompt_cache_retention ?? null,
  options: body.prompt_cache_options ?? null,
});

/** For numbers whose default is 0. */
export const unlessZero = (value: Maybe<number>): number | null => (value === 0 ? null : (value ?? null));
