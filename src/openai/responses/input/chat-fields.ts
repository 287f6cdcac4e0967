import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

/** A field of Chat Completions that the Responses API does not have. */
interface ChatField {
  readonly code: 'unsupported_parameter' | 'unsupported_value';
  /** The reason, for the error message and the docs. */
  readonly why: string;
  /** A value without effect, which is accepted. Null always is. */
  readonly accepted?: number;
}

const moved = (target: string): ChatField => ({
  code: 'unsupported_parameter',
  why: `In the Responses API, this parameter has moved to '${target}'.`,
});

/** Chat fields that are rejected, as OpenAI does, because a client that sends one expects an effect. */
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

/** Throws if the body has one of these fields with another value. */
export const rejectChatFields = (body: JsonObject): void => {
  for (const [name, { code, why, accepted }] of Object.entries(CHAT_FIELDS)) {
    const value = body[name] ?? null;
    if (value === null || value === accepted) continue;
    throw gatewayError(code, { param: name, message: `${START[code](name)}${why}` });
  }
};

/** Whether a field is in this table, so that it is not reported as ignored. */
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
