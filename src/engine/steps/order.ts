import { toolsInProse } from '../prose-tools/prose-engine.ts';
import { answerShortly } from './answer-shortly.ts';
import { compactConversations } from './compact-conversations.ts';
import { continueSteered, endSteered } from './steering.ts';
import { countEnds } from './count-ends.ts';
import { endWithinBudget, limitTime } from './turn-limits.ts';
import { hideSecrets, nameAccessToken, restateFailures } from './reword-failures.ts';
import { keepToolChoice } from './keep-tool-choice.ts';
import { limitOutput, skipEmptyOutput } from './limit-output.ts';
import { needLogprobs } from './need-logprobs.ts';
import { repairCalls } from './repair-calls.ts';
import { retryWhole } from './retry-whole.ts';
import type { Step } from './step.ts';
import { stopEarly, stopSequences } from './stop-sequences.ts';

/** The steps of an answer, around the engine, the first outermost. They depend on the API and the request. */
export const ANSWER_STEPS = [
  restateFailures,
  needLogprobs,
  continueSteered,
  countEnds,
  endSteered,
  answerShortly,
  retryWhole,
  stopEarly,
  repairCalls,
] as const;

/** The steps of a backend, around the attempts at a turn, the first outermost. */
export const BACKEND_STEPS = [
  hideSecrets,
  nameAccessToken,
  endWithinBudget,
  skipEmptyOutput,
  limitOutput,
  stopSequences,
  limitTime,
  compactConversations,
  keepToolChoice,
  toolsInProse,
] as const;

export type AnswerStepDeps = DepsOf<(typeof ANSWER_STEPS)[number]>;
export type BackendStepDeps = DepsOf<(typeof BACKEND_STEPS)[number]>;

/** What all of these steps need together. */
type DepsOf<S> = (S extends Step<infer Deps> ? (deps: Deps) => void : never) extends (deps: infer All) => void
  ? All
  : never;
