import type { ModelNames } from '../../canonical/models/model-names.ts';
import type { ShortModel } from '../steps/answer-shortly.ts';

/** Enough for a line; some models and tools know nothing below it. */
const LITTLE_EFFORT = 'low';

/** Who writes what is short: whom the deployment names, else the smallest model that is listed, else whom the caller asked. */
export const shortModelOf = (names: ModelNames, named: string | null, asked: string): ShortModel => {
  const info = named === null ? names.smallest : (names.find(named)?.info ?? null);
  const plain = { model: info?.id ?? asked, effort: null, serviceTier: null };
  const { model, effort, serviceTier } = named === null ? plain : names.resolve(named);
  return { model, efforts: effort === null ? littleOf(info?.efforts ?? null) : [effort], serviceTier };
};

/** A model of which nothing is known may refuse every effort. */
const littleOf = (efforts: readonly string[] | null): readonly (string | null)[] => {
  if (efforts === null) return [LITTLE_EFFORT, null];
  return [efforts.includes(LITTLE_EFFORT) ? LITTLE_EFFORT : (efforts[0] ?? null)];
};
