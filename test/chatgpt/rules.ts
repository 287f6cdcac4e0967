import type { Answer, Carrier, RefusedAnswer, Rule, Seen } from './rule.ts';
import { BODY_RULES } from './rules-body.ts';
import { HEADER_RULES } from './rules-headers.ts';
import { INPUT_RULES } from './rules-input.ts';
import { CODEX_FORMAT_RULES } from './rules-codex-format.ts';
import { FRAME_RULES, UPGRADE_RULES } from './rules-socket.ts';

/**
 * What the backend of a ChatGPT login requires of a model request, as far as publicly known, in the order of
 * its errors.
 */
export const RULES: readonly Rule[] = [
  ...HEADER_RULES,
  ...UPGRADE_RULES,
  ...FRAME_RULES,
  ...BODY_RULES,
  ...CODEX_FORMAT_RULES,
  ...INPUT_RULES,
];

const MODEL_REQUESTS: readonly Carrier[] = ['post', 'frame'];

export interface Broken {
  readonly rule: Rule;
  readonly answer: Answer;
}

/** Every rule that the request breaks. */
export const brokenRules = (seen: Seen): readonly Broken[] =>
  RULES.filter(
    ({ id, requestFormat, on = MODEL_REQUESTS }) =>
      on.includes(seen.carrier) &&
      (requestFormat === 'both' || requestFormat === seen.requestFormat) &&
      !seen.settings.rulesOff.has(id),
  ).flatMap((rule) => {
    const answer = rule.breaks(seen);
    return answer === null ? [] : [{ rule, answer }];
  });

/** The service's answer: the first rejection. Null: the model answers. */
export const refusalOf = (broken: readonly Broken[]): RefusedAnswer | null =>
  broken.map(({ answer }) => answer).find((answer) => answer !== 'counted') ?? null;
