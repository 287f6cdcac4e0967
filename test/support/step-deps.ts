import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import type { AnswerStepDeps, BackendStepDeps } from '../../src/engine/steps/order.ts';
import type { Ambient } from '../../src/kit/ambient.ts';

/** The dependencies of the answer's steps, for tests that run all of them. */
export const answerStepDeps = ({ clock }: Ambient): AnswerStepDeps => ({
  clock,
  isStream: true,
  keepaliveMs: 1_000,
  tokenizer: { countTexts: async () => 0 },
  restate: null,
  short: null,
  stopEarly: null,
  repair: { attempts: 1, inStreams: true, check: async () => null, onRepair() {} },
});

/** The same for the steps of a backend. */
export const backendStepDeps = (ambient: Ambient): BackendStepDeps => ({
  ...ambient,
  secrets: [],
  usesAccessToken: false,
  turnTimeoutMs: 0,
  tokenizer: { warmUp() {}, count: async () => 0, head: async () => '' },
  refusals: new Refusals(ambient.clock),
  compaction: 'native',
  onNoCompaction() {},
  prose: {
    isProse: () => false,
    guide: { guide: async (schemas) => schemas.map(() => null) },
    instructionsTarget: 'base',
    ambient,
    onAnomaly() {},
  },
});
