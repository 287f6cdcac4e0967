import { gatewayError } from '../../canonical/failure/failure.ts';
import { EFFORTS, type Effort, type ModelInfo } from '../../canonical/models/model-names.ts';
import { matchesPattern } from '../../canonical/models/prices.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { ModelAccess } from './key.ts';

/** Whether the key may use the model. */
export const mayUseModel = ({ models }: ModelAccess, model: string): boolean =>
  models.length === 0 || models.some((pattern) => matchesPattern(pattern, model));

/** The models that the key may use are named, because the client may have sent an alias, such as the one of the default model. */
export const modelRefusal = ({ models }: ModelAccess, model: string, param: string) =>
  gatewayError('model_not_found', {
    param,
    message: `The model '${model}' does not exist or you do not have access to it. This key may use: ${models.join(', ')}.`,
  });

/** The default effort of most models, for those whose default is unknown. */
const USUAL_EFFORT = 'medium';

/** From least to most; an unknown effort is above all others. */
const rankOf = (effort: string): number => {
  const rank = EFFORTS.indexOf(effort as Effort);
  return rank < 0 ? EFFORTS.length : rank;
};

/**
 * The request with an effort of at most `ceiling`: throws if the client chose a higher one, and lowers a default of the
 * model that is higher. `info` is null for an unknown model.
 */
export const withinEffort = (
  request: TurnRequest,
  ceiling: Effort,
  { info, param }: { readonly info: ModelInfo | null; readonly param: string },
): TurnRequest => {
  const { effort } = request.reasoning;
  const isWithin = (one: string): boolean => rankOf(one) <= rankOf(ceiling);
  if (effort !== null) {
    if (isWithin(effort)) return request;
    throw gatewayError('unsupported_value', {
      param,
      message: `Unsupported value: '${effort}'. This key allows a reasoning effort of at most '${ceiling}'.`,
    });
  }
  const efforts = info?.efforts ?? null;
  if (efforts?.length === 0 || isWithin(info?.defaultEffort ?? USUAL_EFFORT)) return request;
  const lowered = efforts === null ? ceiling : efforts.findLast(isWithin);
  if (lowered === undefined) {
    throw gatewayError('unsupported_value', {
      param,
      message: `This key allows a reasoning effort of at most '${ceiling}', which the model '${request.model}' does not support.`,
    });
  }
  return { ...request, reasoning: { ...request.reasoning, effort: lowered } };
};
