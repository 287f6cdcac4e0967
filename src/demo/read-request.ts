import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { type Hints, sampleArguments } from '../schemas/sample-value.ts';

/** Finds topic words, phrases and numbers in a user's text with simple patterns. */

/** Words that do not identify a topic, including those that are common in tool descriptions. */
const STOP_WORDS = new Set(
  `a about all also an and any are as ask at be been but by call can could data demo did do does for from function get
  give given has have hello help here how i if in info information into is it its just know like list make me my need no
  not now of on one or our out please query result return set should show some tell than thanks that the their them then
  there these they this to tool up use used user using value want was we were what when where which who why will with
  would you your`.split(/\s+/),
);

const fold = (word: string): string => {
  const lower = word.toLowerCase();
  return lower.length > 3 && lower.endsWith('s') && !lower.endsWith('ss') ? lower.slice(0, -1) : lower;
};

const isMeaningful = (word: string): boolean =>
  word.length >= 3 && !STOP_WORDS.has(word.toLowerCase()) && !STOP_WORDS.has(fold(word));

/** Splits `getWeather_now` into three words. */
const splitNames = (text: string): string =>
  text.replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ').replaceAll('_', ' ');

const wordsOf = (text: string): readonly string[] => text.match(/\p{L}[\p{L}\p{M}'’]*/gu) ?? [];

/** The words that may identify the topic of a text, in lower case and without a plural s. */
export const topicWords = (text: string): ReadonlySet<string> =>
  new Set(wordsOf(splitNames(text)).filter(isMeaningful).map(fold));

/** Matches `notes.txt`, `src/main.ts` and `/etc/hosts.conf`, but not `e.g.` or `1.5`. */
const FILE_NAMES = /(?<![\w./~-])[\w./~-]{1,200}\.[a-z]\w{1,9}(?![\w/])/giu;

/**
 * Candidates for string arguments, best first: file names, capitalised names inside a sentence, those at the
 * start of a sentence, then any other topic word.
 */
export const phrasesOf = (text: string): readonly string[] => {
  const inside: string[] = [];
  const atStart: string[] = [];
  for (const match of text.matchAll(/\p{Lu}[\p{L}\p{M}\p{N}'’-]*(?: \p{Lu}[\p{L}\p{M}\p{N}'’-]*)*/gu)) {
    const startsSentence = /(?:^|[.!?:\n])\s*$/u.test(text.slice(0, match.index));
    const phrase = startsSentence ? withoutOpening(match[0]) : match[0];
    if (phrase === '') continue;
    (startsSentence && phrase === match[0] ? atStart : inside).push(phrase);
  }
  const plain = wordsOf(text).filter((word) => isMeaningful(word) && !/^\p{Lu}/u.test(word));
  return [...new Set([...(text.match(FILE_NAMES) ?? []), ...inside, ...atStart, ...plain])];
};

/** Drops leading stop words: "Is Paris" becomes "Paris". */
const withoutOpening = (phrase: string): string => {
  const words = phrase.split(' ');
  while (words[0] !== undefined && !isMeaningful(words[0])) words.shift();
  return words.join(' ');
};

export const numbersOf = (text: string): readonly number[] =>
  (text.match(/(?<![\p{L}\p{N}])-?\d{1,12}(?:\.\d{1,6})?(?![\p{L}\p{N}])/gu) ?? []).map(Number);

/** Values from a text that may fill a schema. */
export const hintsOf = (text: string): Hints => ({
  text,
  phrases: phrasesOf(text),
  numbers: numbersOf(text),
  word: 'demo',
});

/** Puts a text on one line and truncates it with an ellipsis. */
export const shorten = (text: string, length: number): string => {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= length
    ? line
    : `${characters
        .slice(0, length - 1)
        .join('')
        .trimEnd()}…`;
};

/** Reads the parts of a Responses request that the demo model uses. */

export interface DeclaredTool {
  readonly name: string;
  readonly namespace: string | null;
  readonly description: string;
  /** Null: a custom tool, whose input is any text. */
  readonly parameters: JsonObject | null;
}

const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

const stringOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The input items; a string input becomes a user message. */
const inputItems = (body: JsonObject): readonly JsonObject[] =>
  typeof body['input'] === 'string'
    ? [{ type: 'message', role: 'user', content: body['input'] }]
    : objectsOf(body['input']);

const isUserMessage = (item: JsonObject): boolean =>
  (item['type'] ?? 'message') === 'message' && item['role'] === 'user';

const isToolOutput = (item: JsonObject): boolean =>
  item['type'] === 'function_call_output' || item['type'] === 'custom_tool_call_output';

/** The text of a message or tool output, which is a string or a list of parts. */
const textOf = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : objectsOf(content)
        .map((part) => stringOf(part['text']))
        .filter((text) => text !== '')
        .join('\n');

/** The newest user message: its text, and the number of images in it. */
export const lastUserMessage = (body: JsonObject): { readonly text: string; readonly images: number } => {
  const message = inputItems(body).findLast(isUserMessage);
  return {
    text: textOf(message?.['content']),
    images: objectsOf(message?.['content']).filter((part) => part['type'] === 'input_image').length,
  };
};

interface ReturnedOutput {
  readonly name: string;
  readonly output: string;
}

/** The tool outputs at the end of the input, which the model has not answered yet. */
export const freshToolOutputs = (body: JsonObject): readonly ReturnedOutput[] => {
  const items = inputItems(body);
  const before = items.findLastIndex((item) => !isToolOutput(item));
  return items.slice(before + 1).map((item) => {
    const callId = item['call_id'] ?? null;
    // An output without a call names its tool itself.
    const named =
      callId === null
        ? item
        : items.find((other) => other['call_id'] === callId && other['name'] !== undefined);
    return { name: stringOf(named?.['name']), output: textOf(item['output']) };
  });
};

export const endsWithUserMessage = (body: JsonObject): boolean => {
  const last = inputItems(body).at(-1);
  return last !== undefined && isUserMessage(last);
};

/** All declared functions and custom tools. Newer models get them in an input item instead of `tools`. */
export const declaredTools = (body: JsonObject): readonly DeclaredTool[] => [
  ...toolsIn(body['tools'], null),
  ...inputItems(body)
    .filter((item) => item['type'] === 'additional_tools')
    .flatMap((item) => toolsIn(item['tools'], null)),
];

const toolsIn = (tools: Json | undefined, namespace: string | null): readonly DeclaredTool[] =>
  objectsOf(tools).flatMap((tool) => {
    const name = stringOf(tool['name']);
    if (tool['type'] === 'namespace') return toolsIn(tool['tools'], name);
    const isCustom = tool['type'] === 'custom';
    if (tool['type'] !== 'function' && !isCustom) return [];
    const declared = isJsonObject(tool['parameters']) ? tool['parameters'] : {};
    const parameters = isCustom ? null : declared;
    return [{ name, namespace, description: stringOf(tool['description']), parameters }];
  });

/** Whether to call a tool, and which ones are allowed (null: all). */
export type ToolPolicy =
  | { readonly mode: 'never' }
  | { readonly mode: 'if-fitting' | 'always'; readonly names: readonly string[] | null };

export const toolPolicy = (body: JsonObject): ToolPolicy => {
  const choice = body['tool_choice'];
  if (choice === 'none') return { mode: 'never' };
  if (choice === 'required') return { mode: 'always', names: null };
  if (!isJsonObject(choice)) return { mode: 'if-fitting', names: null };
  if (choice['type'] === 'function' || choice['type'] === 'custom') {
    return { mode: 'always', names: [stringOf(choice['name'])] };
  }
  if (choice['type'] !== 'allowed_tools') return { mode: 'if-fitting', names: null };
  return {
    mode: choice['mode'] === 'required' ? 'always' : 'if-fitting',
    names: objectsOf(choice['tools']).map((tool) => stringOf(tool['name'])),
  };
};

export interface RequestedImage {
  readonly previews: number;
  /** As written in the tool declaration; null: any size. */
  readonly size: string | null;
}

/** The image that `tool_choice` forces the model to draw, or null. */
export const requestedImage = (body: JsonObject): RequestedImage | null => {
  const choice = body['tool_choice'];
  if (!isJsonObject(choice) || choice['type'] !== 'image_generation') return null;
  const tool = objectsOf(body['tools']).find(({ type }) => type === 'image_generation');
  const previews = tool?.['partial_images'];
  const size = tool?.['size'];
  return {
    previews: typeof previews === 'number' ? Math.min(previews, MAX_PREVIEWS) : 0,
    size: typeof size === 'string' ? size : null,
  };
};

const MAX_PREVIEWS = 3;

type RequestedFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'object' }
  | { readonly kind: 'schema'; readonly schema: Json };

export const requestedFormat = (body: JsonObject): RequestedFormat => {
  const format = isJsonObject(body['text']) ? body['text']['format'] : undefined;
  if (!isJsonObject(format)) return { kind: 'text' };
  if (format['type'] === 'json_object') return { kind: 'object' };
  return format['type'] === 'json_schema'
    ? { kind: 'schema', schema: format['schema'] ?? {} }
    : { kind: 'text' };
};

interface RequestedReasoning {
  readonly summary: boolean;
  readonly encrypted: boolean;
}

/** The requested reasoning, or null if none is requested. */
export const requestedReasoning = (body: JsonObject): RequestedReasoning | null => {
  const reasoning = isJsonObject(body['reasoning']) ? body['reasoning'] : {};
  const isRequested = (key: string): boolean =>
    typeof reasoning[key] === 'string' && reasoning[key] !== 'none';
  if (!isRequested('summary') && !isRequested('effort')) return null;
  const include = Array.isArray(body['include']) ? body['include'] : [];
  return { summary: isRequested('summary'), encrypted: include.includes('reasoning.encrypted_content') };
};

export const maxOutputTokens = (body: JsonObject): number =>
  typeof body['max_output_tokens'] === 'number' ? body['max_output_tokens'] : Infinity;

/** Coding agents write very long tool descriptions. Only the first sentences identify the topic. */
const TOPIC_CHARS = 200;

/** Coding agents that ask for a summary of the conversation send their tools with it. */
const FORBIDS_TOOLS = /\bdo not (?:call|use) any tools?\b/i;

/** Chooses the tool that shares the most words with the text; words of its name count double. */
export const chooseTool = (
  tools: readonly DeclaredTool[],
  policy: ToolPolicy,
  text: string,
): DeclaredTool | null => {
  if (policy.mode === 'never') return null;
  if (policy.mode !== 'always' && FORBIDS_TOOLS.test(text)) return null;
  const open = tools.filter(
    ({ name, parameters }) =>
      (policy.names === null || policy.names.includes(name)) &&
      // Its input may have to follow a grammar, so it is only called on demand.
      (parameters !== null || policy.mode === 'always'),
  );
  const queryWords = topicWords(text);
  const shared = (words: string): number =>
    [...topicWords(words)].filter((word) => queryWords.has(word)).length;
  const scored = open.map((tool) => ({
    tool,
    score: 2 * shared(tool.name) + shared(tool.description.slice(0, TOPIC_CHARS)),
  }));
  const best = scored.toSorted((a, b) => b.score - a.score)[0];
  if (best === undefined || (best.score === 0 && policy.mode !== 'always')) return null;
  return best.tool;
};

/** Arguments that match the tool's schema, with values from the text where possible; for a custom tool the text itself. */
export const argumentsFor = ({ parameters }: DeclaredTool, text: string): Json =>
  parameters === null ? shorten(text, 160) : (sampleArguments(parameters, hintsOf(text)) ?? {});
