import { gatewayError } from '../../canonical/failure/failure.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../canonical/request/turn-request.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/lists.ts';
import { bodyObject, rejectStreamOptions, stopsOf, type ToTurnOptions } from '../chat/common.ts';
import { CHAT_SETTINGS } from '../chat/parameter-names.ts';
import type { ReadBody } from '../../apis/common-fields.ts';
import type { ParameterNames } from '../../apis/parameter-names.ts';
import { rejectUsed } from '../../apis/parameters.ts';
import { readSampling } from '../shared/read-settings.ts';
import { namesWhere, unreadFields } from '../../apis/unread-fields.ts';
import { emptyArray, parseBody } from '../../apis/validation.ts';
import { COMPLETION_PARAMETERS } from './parameters.ts';
import { createCompletionSchema, MAX_TURNS, type CreateCompletion } from './schema.ts';

export interface ParsedCompletion extends ReadBody<CreateCompletion> {
  /** The requests for the other prompts. */
  readonly further: readonly TurnRequest[];
  readonly prompts: OneOrMore<string>;
}

export const toTurnRequest = (body: unknown, { models }: Pick<ToTurnOptions, 'models'>): ParsedCompletion => {
  const object = bodyObject(body);
  const parsed = parseBody(createCompletionSchema, object);
  rejectStreamOptions(parsed);
  rejectUnsupported(parsed);
  const prompts = promptsOf(parsed);
  rejectLongEcho(parsed, prompts);
  const model = models.resolve(parsed.model);
  const requestOf = (text: string): TurnRequest => ({
    ...PLAIN_REQUEST,
    model: model.model,
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] }],
    reasoning: { effort: model.effort, summary: null, context: null },
    serviceTier: model.serviceTier,
    maxOutputTokens: parsed.max_tokens ?? null,
    stop: stopsOf(parsed.stop),
    sampling: readSampling(parsed),
    user: parsed.user ?? null,
  });
  const [request, ...further] = mapAll(prompts, requestOf);
  return {
    parsed,
    request,
    further,
    prompts,
    ignored: [...unreadFields(createCompletionSchema, object, ''), ...withoutEffect(parsed)],
    names: NAMES,
  };
};

/** The prompt is the whole conversation, and an effort can only be part of the model name. */
const NAMES: ParameterNames = {
  settings: { ...CHAT_SETTINGS, items: 'prompt', 'reasoning.effort': 'model', maxOutputTokens: 'max_tokens' },
  places: ['prompt'],
  tool: () => CHAT_SETTINGS.tools,
  toolField: () => CHAT_SETTINGS.tools,
  include: () => CHAT_SETTINGS.include,
  formatPlace: CHAT_SETTINGS.format,
};

const promptsOf = ({ prompt, n }: CreateCompletion): OneOrMore<string> => {
  if (typeof prompt === 'string') return [prompt];
  const turns = prompt.length * (n ?? 1);
  const [first, ...others] = prompt;
  if (first === undefined) throw emptyArray('prompt');
  if (turns <= MAX_TURNS) return [first, ...others];
  throw gatewayError('invalid_value', {
    param: 'prompt',
    message: `Invalid 'prompt': ${prompt.length} prompts with 'n' answers each are ${turns} turns, and a request has at most ${MAX_TURNS}.`,
  });
};

/** For one answer: repeating a long prompt in each of 128 choices could take gigabytes. */
const MAX_ECHO_CHARS = 16 * 1024 * 1024;

/** A single echo is limited by the length of the body. */
const rejectLongEcho = ({ echo, n }: CreateCompletion, prompts: readonly string[]): void => {
  const choices = n ?? 1;
  if (echo !== true || choices === 1) return;
  const chars = choices * prompts.reduce((sum, prompt) => sum + prompt.length, 0);
  if (chars <= MAX_ECHO_CHARS) return;
  throw gatewayError('invalid_value', {
    param: 'n',
    message: `Invalid 'n': with 'echo' the answer would repeat ${chars} characters of the prompt, and it may repeat at most ${MAX_ECHO_CHARS}. Ask for fewer choices, or without 'echo'.`,
  });
};

/** Default values are accepted. */
const rejectUnsupported = ({ suffix, best_of, logprobs }: CreateCompletion): void =>
  rejectUsed(
    { suffix: suffix !== '' && suffix, best_of: (best_of ?? 1) > 1, logprobs },
    COMPLETION_PARAMETERS,
  );

const withoutEffect = (parsed: CreateCompletion): readonly string[] =>
  namesWhere({
    'stream_options.include_obfuscation': parsed.stream_options?.include_obfuscation,
    logit_bias: Object.keys(parsed.logit_bias ?? {}).length > 0,
  });
