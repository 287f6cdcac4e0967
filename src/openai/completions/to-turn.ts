import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../canonical/request/turn-request.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/lists.ts';
import { bodyObject, rejectStreamOptions, stopsOf, type ChatTurnOptions } from '../chat/common.ts';
import { CHAT_SETTINGS, completionFields, CHOICE_PARAMETERS } from '../chat/parameters.ts';
import type { ReadBody } from '../../apis/common-fields.ts';
import { type ParameterNames, rejectUsed, type ParameterTable } from '../../apis/parameters.ts';
import { readSampling } from '../shared/field-schemas.ts';
import { namesWhere, unreadFields, emptyArray, parseBody } from '../../apis/validation.ts';
import { listOf, longText } from '../../apis/bounds.ts';
import { isJsonObject } from '../../kit/json/json.ts';

/** How each field of a completion request is handled. */
export const COMPLETION_PARAMETERS: ParameterTable<CreateCompletion> = {
  ...CHOICE_PARAMETERS,
  prompt: {
    asks: ['items'],
    note: 'A text, a list of tokens (of the encoding that OpenAI gives the requested model: `cl100k_base` for `gpt-3.5-turbo-instruct`, `davinci-002` and `gpt-4`, `o200k_base` for current and unknown names), or up to 128 of either: each becomes the user message of a separate turn. The choices of the first prompt come first; `n` times the number of prompts is at most 128.',
  },
  max_tokens: {
    asks: ['maxOutputTokens'],
    note: 'As `max_completion_tokens` in chat. Without it there is no limit. With 0 no model is called: the answer is empty, or the prompt with `echo`, and `usage` counts the prompt.',
  },
  suffix: { policy: 'rejected', note: 'Chat models do not fill in the middle of a text.' },
  echo: { policy: 'emulated', note: 'The answer begins with the prompt.' },
  best_of: { policy: 'rejected', note: 'Answers are not weighed against each other.' },
  logprobs: { policy: 'rejected', note: 'Log probabilities are given in chat only.' },
};

/** OpenAI's limit on choices per request. Each one is a turn. */
const MAX_TURNS = 128;

/**
 * `CreateCompletionRequest`, the legacy API. Every key needs a row in `parameters.ts`, which the compiler checks. Token
 * prompts are already replaced by texts (`token-prompts.ts`).
 */
const createCompletionSchema = z.object({
  ...completionFields,
  /** Unlike Chat, this API allows 0: for the echo only, or to count tokens. */
  max_tokens: z.int().min(0).nullish(),
  prompt: z.union([longText, listOf(longText, MAX_TURNS)]),
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  best_of: z.int().min(0).max(20).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
});

type CreateCompletion = z.output<typeof createCompletionSchema>;

export interface ParsedCompletion extends ReadBody<CreateCompletion> {
  /** The requests for the other prompts. */
  readonly further: readonly TurnRequest[];
  readonly prompts: OneOrMore<string>;
}

export const completionToTurn = (
  body: unknown,
  { models }: Pick<ChatTurnOptions, 'models'>,
): ParsedCompletion => {
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

/** More than any model accepts. */
const MAX_TOKENS = 1_000_000;

/** A prompt of token ids, and its location in the body. */
interface TokenPrompt {
  readonly at: string;
  readonly tokens: readonly number[];
}

/** The token prompts of a body; empty if it has none or is invalid. */
export const tokenPrompts = (body: unknown): readonly TokenPrompt[] => {
  const prompt = isJsonObject(body) ? body['prompt'] : undefined;
  if (!Array.isArray(prompt) || prompt.length === 0) return [];
  if (typeof prompt[0] === 'number') return [tokensAt('prompt', prompt)];
  // Lists that are too long or mixed are rejected when the body is parsed.
  if (prompt.length > MAX_TURNS || !prompt.every((one) => Array.isArray(one))) return [];
  return prompt.map((one, index) => tokensAt(`prompt[${index}]`, one));
};

/** The model of a body that is not validated yet. */
export const modelOf = (body: unknown): string => {
  const model = isJsonObject(body) ? body['model'] : undefined;
  return typeof model === 'string' ? model : '';
};

const tokensAt = (at: string, list: readonly unknown[]): TokenPrompt => {
  if (list.length === 0 || list.length > MAX_TOKENS) {
    throw gatewayError('invalid_value', {
      param: at,
      message: `Invalid '${at}': expected 1 to ${MAX_TOKENS} tokens, but got ${list.length} instead.`,
    });
  }
  const odd = list.findIndex((token) => !Number.isInteger(token));
  if (odd === -1) return { at, tokens: list as readonly number[] };
  throw gatewayError('invalid_type', {
    param: `${at}[${odd}]`,
    message: `Invalid type for '${at}[${odd}]': expected an integer, the number of a token.`,
  });
};

/** The body with its token prompts replaced by texts. */
export const withTexts = (
  body: unknown,
  prompts: readonly TokenPrompt[],
  texts: readonly (string | null)[],
): unknown => {
  const index = texts.indexOf(null);
  if (index !== -1) {
    const { at } = prompts[index] ?? { at: 'prompt' };
    throw gatewayError('invalid_value', {
      param: at,
      message: `Invalid '${at}': these tokens are not valid text, or too long. They are decoded with the encoding of the requested model, without special tokens.`,
    });
  }
  return isJsonObject(body) ? { ...body, prompt: texts } : body;
};
