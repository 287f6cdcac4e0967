import { readErrorBody } from '../../failures/read-error.ts';
import { PLAIN_PARAMETERS, type EditField } from '../../capabilities/profile.ts';

/** "I do not know this", in the words of OpenAI, ChatGPT and others. */
const SAYS_UNSUPPORTED =
  /unsupported|unknown|unrecogni[sz]ed|not_supported|extra_forbidden|deprecated|\bnot (?:supported|permitted|allowed|accepted|available|implemented)|(?:does not|doesn't|do not|cannot) (?:support|accept|take|allow)|extra (?:inputs?|fields?)|additional propert|unexpected (?:field|key|keyword|param|argument|propert)/i;

/** "I know this, but not such a value": that is between the client and the backend. */
const SAYS_VALUE =
  /maximum|minimum|\b(?:must|should) be\b|between|out of range|less than|greater than|at (?:most|least)|too (?:long|many|large|small|short)|above_max|below_min|invalid_value|invalid_type/i;

/** One value of `include`, in the words of OpenAI and by its name. */
const ENCRYPTED = 'reasoning.encrypted_content';
const SAYS_ENCRYPTED = /encrypted content is not supported|reasoning\.encrypted_content/i;

/** Text files go as text where a backend knows no parts of this type. */
const FILE = 'input_file';

/** It is kept here where the backend is not told, and its values were checked: "must be auto" is a refusal of it. */
const CHOICE = 'tool_choice';
const SAYS_CHOICE = /support|\bmust be\b/i;

const BREAKPOINT = 'prompt_cache_breakpoint';

/** Fields of calls and of their outputs. */
const CALL_FIELDS = 'call_fields';
const SAYS_CALL_FIELD = /\binput(?:\[\d+\]|\.\d+)\.(?:caller|async|name|namespace)\b/;

/**
 * Which of the fields that we set a 400 is about; null when it is about the client's own request.
 * Whoever can make us believe in a refusal takes the parameter away from everyone: so a mere
 * complaint about its value is none.
 */
export const refusedField = (body: string, set: ReadonlySet<EditField>): EditField | null => {
  const error = readErrorBody(body);
  const message = error.message ?? body;
  const words = `${error.code ?? ''} ${error.type ?? ''} ${message}`;
  // There are backends that list what else a part may be.
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
  // It stands in parts of the input, at whatever place.
  if (candidates.includes(BREAKPOINT) && (param ?? message).includes(BREAKPOINT)) return BREAKPOINT;
  // `include[1]` is about `include`.
  if (param !== null) return candidates.find((field) => param.replace(/\[\d+\]$/, '') === field) ?? null;
  return candidates.find((field) => mentions(message, field)) ?? null;
};

/**
 * Fields whose loss a client can be told about, or does not see. A tool or an output format that is
 * refused is not among them: without it the answer would be another.
 */
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
