import { gatewayError } from '../../canonical/failure.ts';
import { PLAIN_ASK, type AskedTurn } from '../../canonical/turn-request.ts';
import { bodyObject, refuseStreamOptions, stopsOf, type ToTurnOptions } from '../chat/common.ts';
import { CHAT_SETTINGS } from '../chat/names.ts';
import type { ParameterNames } from '../parameter-names.ts';
import { readSampling } from '../settings.ts';
import { unreadFields } from '../unread-fields.ts';
import { parseBody } from '../validation.ts';
import { COMPLETION_PARAMETERS } from './parameters.ts';
import { createCompletionSchema, type CreateCompletion } from './schema.ts';

export interface CompletionAsk {
  readonly given: CreateCompletion;
  readonly request: AskedTurn;
  readonly names: ParameterNames;
  /** Fields that will have no effect, by their place in the body. */
  readonly ignored: readonly string[];
}

export const toTurnRequest = (body: unknown, { models }: Pick<ToTurnOptions, 'models'>): CompletionAsk => {
  const object = bodyObject(body);
  const given = parseBody(createCompletionSchema, object);
  refuseStreamOptions(given);
  refuseUnservable(given);
  const model = models.resolve(given.model);
  return {
    given,
    ignored: [...unreadFields(createCompletionSchema, object, ''), ...withoutEffect(given)],
    names: NAMES,
    request: {
      ...PLAIN_ASK,
      model: model.model,
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: promptOf(given) }] }],
      reasoning: { effort: model.effort, summary: null, context: null },
      serviceTier: model.serviceTier,
      maxOutputTokens: given.max_tokens ?? null,
      stop: stopsOf(given.stop),
      sampling: readSampling(given),
      user: given.user ?? null,
    },
  };
};

/** The prompt is all there is of a conversation, and an effort can only stand in the model's name. */
const NAMES: ParameterNames = {
  settings: { ...CHAT_SETTINGS, items: 'prompt', 'reasoning.effort': 'model', maxOutputTokens: 'max_tokens' },
  places: ['prompt'],
  tool: () => CHAT_SETTINGS.tools,
  toolField: () => CHAT_SETTINGS.tools,
  include: () => CHAT_SETTINGS.include,
};

const promptOf = ({ prompt }: CreateCompletion): string => {
  if (typeof prompt === 'string') return prompt;
  const [first, ...others] = prompt;
  if (first !== undefined && others.length === 0) return first;
  throw gatewayError('unsupported_value', {
    param: 'prompt',
    message: `Unsupported value: 'prompt' must be a string or an array of one string, but got an array of ${prompt.length}.`,
  });
};

/** Values that ask for nothing are fine. */
const refuseUnservable = (given: CreateCompletion): void => {
  const asked = {
    suffix: (given.suffix ?? '') !== '',
    echo: given.echo === true,
    best_of: (given.best_of ?? 1) > 1,
    logprobs: (given.logprobs ?? null) !== null,
  };
  for (const [name, isAsked] of Object.entries(asked)) {
    if (isAsked) {
      throw gatewayError('unsupported_parameter', {
        param: name,
        message: `Unsupported parameter: '${name}'. ${COMPLETION_PARAMETERS[name as keyof typeof asked].note}`,
      });
    }
  }
};

const withoutEffect = (given: CreateCompletion): string[] => [
  ...(given.stream_options?.include_obfuscation === true ? ['stream_options.include_obfuscation'] : []),
  ...(Object.keys(given.logit_bias ?? {}).length > 0 ? ['logit_bias'] : []),
];
