import { readUpstreamError } from './http-failure.ts';
import { OVERRIDABLE, type EditField } from './profile.ts';

const SAYS_UNSUPPORTED =
  /unsupported|unknown|unrecognized|not supported|not permitted|extra (?:inputs|fields)/i;

/**
 * Which of the fields that we set a 400 is about; null when it is about the client's own request.
 * A tool's schema or the format may be wrong by itself: there only a plain "I do not know this" counts.
 */
export const refusedField = (body: string, set: ReadonlySet<EditField>): EditField | null => {
  const error = readUpstreamError(body);
  const message = error.message ?? body;
  const isUnsupported = SAYS_UNSUPPORTED.test(`${error.code ?? ''} ${message}`);
  const candidates = [...set].filter(
    (field) => OVERRIDABLE.has(field) || (isUnsupported && GENTLE.has(field)),
  );
  return (
    candidates.find((field) => error.param === field) ??
    (error.param === null
      ? candidates.find((field) => isUnsupported && mentions(message, field))
      : undefined) ??
    null
  );
};

/** Structural fields whose loss a client can be told about. */
const GENTLE: ReadonlySet<EditField> = new Set([
  'tool_choice',
  'parallel_tool_calls',
  'include',
  'text.verbosity',
]);

const mentions = (message: string, field: EditField): boolean =>
  new RegExp(String.raw`(?<![\w.])${field.replaceAll('.', String.raw`\.`)}(?!\w)`).test(message);
