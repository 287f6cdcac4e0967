import { isJsonObject, listIn, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { invalidChoice } from '../../../apis/validation.ts';

/** The fields that an answer has only if its request names them in `include`. */
export const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

export type Includable = (typeof INCLUDABLE)[number];

/** Whether a field is shown. */
export type Includes = (field: Includable) => boolean;

/** Reads `include` from a query: repeated, with or without brackets, or separated by commas. Throws if a value is unknown. */
export const readInclude = (query: URLSearchParams): ReadonlySet<Includable> =>
  new Set(
    [...query]
      .filter(([name]) => /^include(?:\[\d*\])?$/.test(name))
      .flatMap(([, value]) => value.split(','))
      .filter((value) => value !== '')
      .map((value) => {
        const known = INCLUDABLE.find((one) => one === value);
        if (known === undefined) throw invalidChoice('include', value, INCLUDABLE);
        return known;
      }),
  );

/** Removes the fields of an item that are not shown. Fields that the API requires become empty. */
export const withIncluded = (item: JsonObject, includes: Includes): JsonObject => {
  switch (textIn(item, 'type')) {
    case 'message':
      return { ...item, content: listIn(item, 'content').map((part) => partWith(part, includes)) };
    case 'reasoning':
      return includes('reasoning.encrypted_content') ? item : without(item, 'encrypted_content');
    case 'file_search_call':
      return includes('file_search_call.results') ? item : emptied(item, 'results', null);
    case 'code_interpreter_call':
      return includes('code_interpreter_call.outputs') ? item : emptied(item, 'outputs', null);
    case 'web_search_call':
      return webSearchWith(item, includes);
    case 'computer_call_output': {
      const { output } = item;
      return includes('computer_call_output.output.image_url') || !isJsonObject(output)
        ? item
        : { ...item, output: without(output, 'image_url') };
    }
    default:
      return item;
  }
};

const partWith = (part: Json, includes: Includes): Json => {
  if (!isJsonObject(part)) return part;
  switch (textIn(part, 'type')) {
    case 'output_text':
      return includes('message.output_text.logprobs') ? part : emptied(part, 'logprobs', []);
    case 'input_image':
      return includes('message.input_image.image_url') ? part : emptied(part, 'image_url', null);
    default:
      return part;
  }
};

const webSearchWith = (item: JsonObject, includes: Includes): JsonObject => {
  const shown = includes('web_search_call.results') ? item : without(item, 'results');
  const { action } = shown;
  return includes('web_search_call.action.sources') || !isJsonObject(action)
    ? shown
    : { ...shown, action: without(action, 'sources') };
};

/** The same order of members, so that an answer is the same to the byte each time. */
const emptied = (object: JsonObject, key: string, empty: Json): JsonObject =>
  key in object ? { ...object, [key]: empty } : object;

const without = (object: JsonObject, key: string): JsonObject => {
  const { [key]: _, ...rest } = object;
  return rest;
};
