import { gatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { MAX_TURNS } from './schema.ts';

/** More than any model accepts. */
const MAX_TOKENS = 1_000_000;

/** A prompt of token ids, and its location in the body. */
export interface TokenPrompt {
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
