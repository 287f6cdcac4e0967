import type { Path } from '../request/path.ts';
import type { TurnRequest } from '../request/turn-request.ts';

/** Why a request is not run. The API that read it adds the caller's name for the place. */
export interface Refusal {
  readonly path: Path;
  /** The row of the failure table. */
  readonly kind:
    | 'invalid_value'
    | 'unsupported_parameter'
    | 'unsupported_value'
    | 'unsupported_tool'
    | 'unsupported_file';
  /** The end of a sentence about the place. */
  readonly why: string;
}

/** Log probabilities are an answer of their own in some APIs: without them there is nothing to answer with. */
const LOGPROBS = 'message.output_text.logprobs';

/** The name or strictness of a format: the format itself has its effect, so nothing is refused for it. */
const isLabel = (path: Path): boolean => typeof path === 'object' && 'formatField' in path;

/** Whether no answer is wanted in which this has no effect. */
export const isDemanded = ({ isStrict, logprobs }: TurnRequest, path: Path): boolean =>
  (isStrict === true && !isLabel(path)) || (logprobs.isNeeded && isAboutLogprobs(path));

/** What a request cannot do without, among all that has no effect. */
export const refusedAmong = (request: TurnRequest, ignored: readonly Path[]): readonly Refusal[] => {
  const isNeeded = (path: Path): boolean => request.logprobs.isNeeded && isAboutLogprobs(path);
  return [
    ...ignored.filter(isNeeded).map((path) => withoutEffect(path, 'has no effect here')),
    ...(request.isStrict === true ? ignored.filter((path) => !isNeeded(path) && !isLabel(path)) : []).map(
      (path) => withoutEffect(path, NO_EFFECT_IN_STRICT),
    ),
  ];
};

/** Said of whatever else has no effect, where strict parameters are on. */
export const NO_EFFECT_IN_STRICT = 'has no effect here, and strict parameters are on';

const withoutEffect = (path: Path, why: string): Refusal => ({ path, kind: 'unsupported_parameter', why });

const isAboutLogprobs = (path: Path): boolean =>
  path === 'logprobs.top' || (typeof path === 'object' && 'include' in path && path.include === LOGPROBS);
