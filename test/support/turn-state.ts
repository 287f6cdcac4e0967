import { NOTHING_LOADED } from '../../src/turns/api.ts';
import type { TurnState } from '../../src/turns/turn-state.ts';

/** A state of a request that refers to nothing, and of which nothing is kept. */
export const noState: TurnState = {
  loaded: NOTHING_LOADED,
  cacheKey: null,
  isKept: () => false,
  record: async () => true,
  release() {},
};
