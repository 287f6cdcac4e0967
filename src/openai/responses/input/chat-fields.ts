import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

/** A field of Chat Completions that the Responses API does not have. */
interface ChatField {
  readonly code: 'unsupported_parameter' | 'unsupported_value';
  /** The reason, as the error message and the docs give it. */
  readonly why: string;
  /** A value that asks for nothing, and is accepted. Null always is. */
  readonly accepted?: number;
}

const moved = (target: string): ChatField => ({
  code: 'unsupported_parameter',
  why: `In the Responses API, this parameter has moved to '${target}'.`,
});

/**
 * Fields that are in no table of parameters and are nevertheless not ignored: OpenAI refuses them, because a
 * client that sends one expects an effect.
 */
export const CHAT_FIELDS: Readonly<Record<string, ChatField>> = {
  messages: moved('input'),
  max_tokens: moved('max_output_tokens'),
  max_completion_tokens: moved('max_output_tokens'),
  reasoning_effort: moved('reasoning.effort'),
  verbosity: moved('text.verbosity'),
  n: { code: 'unsupported_value', why: "'n' must be 1 in the Responses API.", accepted: 1 },
};

const START = {
  unsupported_parameter: (name: string) => `Unsupported parameter: '${name}'. `,
  unsupported_value: () => 'Unsupported value: ',
} as const;

/** Throws if the body has one of these fields with a value that asks for something. */
export const refuseChatFields = (body: JsonObject): void => {
  for (const [name, { code, why, accepted }] of Object.entries(CHAT_FIELDS)) {
    const value = body[name] ?? null;
    if (value === null || value === accepted) continue;
    throw gatewayError(code, { param: name, message: `${START[code](name)}${why}` });
  }
};

/** Whether a field outside the schema is known here, so that it is not named as ignored. */
export const isChatField = (name: string): boolean => Object.hasOwn(CHAT_FIELDS, name);

/** The Markdown table of these fields for `docs/parameters.md`. */
export const describeChatFields = (): string =>
  [
    '| field | accepted values | otherwise 400 | message |',
    '|---|---|---|---|',
    ...Object.entries(CHAT_FIELDS).map(([name, { code, why, accepted }]) => {
      const values = ['`null`', ...(accepted === undefined ? [] : [`\`${accepted}\``])].join(', ');
      return `| \`${name}\` | ${values} | \`${code}\` | ${why} |`;
    }),
    '',
  ].join('\n');
