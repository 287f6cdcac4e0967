import { readErrorBody } from '../../failures/read-error.ts';
import { PLAIN_PARAMETERS, type EditField } from '../../capabilities/profile.ts';

/** "Unknown parameter", in the words of OpenAI, ChatGPT and others. */
const SAYS_UNSUPPORTED =
  /unsupported|unknown|unrecogni[sz]ed|not_supported|extra_forbidden|deprecated|\bnot (?:supported|permitted|allowed|accepted|available|implemented)|(?:does not|doesn't|do not|cannot) (?:support|accept|take|allow)|extra (?:inputs?|fields?)|additional propert|unexpected (?:field|key|keyword|param|argument|propert)/i;

/** "Known parameter, invalid value": an error of the client. */
const SAYS_VALUE =
  /maximum|minimum|\b(?:must|should) be\b|between|out of range|less than|greater than|at (?:most|least)|too (?:long|many|large|small|short)|above_max|below_min|invalid_value|invalid_type/i;

/** A value of `include`, in OpenAI's words and by its name. */
const ENCRYPTED = 'reasoning.encrypted_content';
const SAYS_ENCRYPTED = /encrypted content is not supported|reasoning\.encrypted_content/i;

/** Text files are sent as text if a backend does not know parts of this type. */
const FILE = 'input_file';

/** Enforced here if the backend does not accept it, and already validated: "must be auto" means unsupported. */
const CHOICE = 'tool_choice';
const SAYS_CHOICE = /support|\bmust be\b/i;

const BREAKPOINT = 'prompt_cache_breakpoint';

/** Additional fields of calls and their outputs. */
const CALL_FIELDS = 'call_fields';
const SAYS_CALL_FIELD = /\binput(?:\[\d+\]|\.\d+)\.(?:caller|async|name|namespace)\b/;

/**
 * The field set by us that a 400 is about; null if it is about the client's own request. A remembered refusal
 * disables the parameter for everyone, so a complaint about its value does not count.
 */
export const refusedField = (body: string, set: ReadonlySet<EditField>): EditField | null => {
  const error = readErrorBody(body);
  const message = error.message ?? body;
  const words = `${error.code ?? ''} ${error.type ?? ''} ${message}`;
  // Some backends list the accepted part types instead.
  if (set.has(FILE) && mentions(message, FILE)) return FILE;
  const { param } = error;
  if (
    set.has(CHOICE) &&
    SAYS_CHOICE.test(words) &&
    (param === null ? mentions(message, CHOICE) : param === CHOICE)
  )
    return CHOICE;
  if (!SAYS_UNSUPPORTED.test(words) || SAYS_VALUE.test(words)) return null;
  if (set.has(CALL_FIELDS) && SAYS_CALL_FIELD.test(param ?? message)) return CALL_FIELDS;
  const candidates = [...set].filter((field) => PLAIN_PARAMETERS.has(field) || DISPENSABLE.has(field));
  if (candidates.includes(ENCRYPTED) && SAYS_ENCRYPTED.test(message)) return ENCRYPTED;
  // It can be in any input part.
  if (candidates.includes(BREAKPOINT) && (param ?? message).includes(BREAKPOINT)) return BREAKPOINT;
  // `include[1]` is about `include`.
  if (param !== null) return candidates.find((field) => param.replace(/\[\d+\]$/, '') === field) ?? null;
  return candidates.find((field) => mentions(message, field)) ?? null;
};

/** Fields whose loss can be reported or is invisible. Without tools or output formats, the answer would differ. */
const DISPENSABLE: ReadonlySet<EditField> = new Set([
  'tool_choice',
  'parallel_tool_calls',
  'include',
  ENCRYPTED,
  'text.verbosity',
  'reasoning.context',
  'reasoning.mode',
  BREAKPOINT,
  'service_tier',
  'prompt_cache_key',
]);

const mentions = (message: string, field: EditField): boolean =>
  new RegExp(String.raw`(?<![\w.])${field.replaceAll('.', String.raw`\.`)}(?!\w)`).test(message);
