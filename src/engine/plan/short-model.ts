import type { ModelNames } from '../../canonical/models/model-names.ts';
import type { ShortModel } from '../steps/answer-shortly.ts';

/** Enough for a line; not all models have a lower one. */
const LITTLE_EFFORT = 'low';

/** The model for short answers: the configured one, else the smallest listed one, else the requested one. */
export const shortModelOf = (names: ModelNames, named: string | null, asked: string): ShortModel => {
  const info = named === null ? names.smallest : (names.find(named)?.info ?? null);
  const plain = { model: info?.id ?? asked, effort: null, serviceTier: null };
  const { model, effort, serviceTier } = named === null ? plain : names.resolve(named);
  return { model, efforts: effort === null ? littleOf(info?.efforts ?? null) : [effort], serviceTier };
};

/** An unknown model may reject every effort. */
const littleOf = (efforts: readonly string[] | null): readonly (string | null)[] => {
  if (efforts === null) return [LITTLE_EFFORT, null];
  return [efforts.includes(LITTLE_EFFORT) ? LITTLE_EFFORT : (efforts[0] ?? null)];
};
