import type { Path } from '../request/path.ts';
import type { TurnRequest } from '../request/turn-request.ts';

/** Why a request is rejected. The API that parsed it adds its own name of the parameter. */
export interface Rejection {
  readonly path: Path;
  /** Its row in the failure catalogue. */
  readonly kind:
    | 'invalid_value'
    | 'unsupported_parameter'
    | 'unsupported_value'
    | 'unsupported_tool'
    | 'unsupported_file';
  /** Completes a sentence that begins with the parameter's name. */
  readonly why: string;
}

/** Some APIs cannot answer without log probabilities. */
const LOGPROBS = 'message.output_text.logprobs';

/** The name or strictness of a format. The format itself has its effect, so these are never rejected. */
const isLabel = (path: Path): boolean => typeof path === 'object' && 'formatField' in path;

/** Whether the request must be rejected if this part of it has no effect. */
export const mustHaveEffect = ({ isStrict, logprobs }: TurnRequest, path: Path): boolean =>
  (isStrict === true && !isLabel(path)) || (logprobs.isNeeded && isAboutLogprobs(path));

/** The rejections for the parts of a request that have no effect but must have one. */
export const rejectionsFor = (request: TurnRequest, ignored: readonly Path[]): readonly Rejection[] => {
  const isNeeded = (path: Path): boolean => request.logprobs.isNeeded && isAboutLogprobs(path);
  return [
    ...ignored.filter(isNeeded).map((path) => withoutEffect(path, 'has no effect here')),
    ...(request.isStrict === true ? ignored.filter((path) => !isNeeded(path) && !isLabel(path)) : []).map(
      (path) => withoutEffect(path, NO_EFFECT_IN_STRICT),
    ),
  ];
};

/** The reason for all other parameters without effect if strict parameters are on. */
export const NO_EFFECT_IN_STRICT = 'has no effect here, and strict parameters are on';

const withoutEffect = (path: Path, why: string): Rejection => ({ path, kind: 'unsupported_parameter', why });

const isAboutLogprobs = (path: Path): boolean =>
  path === 'logprobs.top' || (typeof path === 'object' && 'include' in path && path.include === LOGPROBS);
