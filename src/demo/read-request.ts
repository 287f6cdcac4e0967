import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';

/** Reads the parts of a Responses request that the demo model uses. */

export interface DeclaredTool {
  readonly name: string;
  readonly namespace: string | null;
  readonly description: string;
  readonly parameters: JsonObject;
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

export interface ToolOutput {
  readonly name: string;
  readonly output: string;
}

/** The tool outputs at the end of the input, which the model has not answered yet. */
export const freshToolOutputs = (body: JsonObject): readonly ToolOutput[] => {
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

/** All declared function tools. Newer models get them in an input item instead of `tools`. */
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
    if (tool['type'] !== 'function') return [];
    const parameters = isJsonObject(tool['parameters']) ? tool['parameters'] : {};
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
  if (choice['type'] === 'function') return { mode: 'always', names: [stringOf(choice['name'])] };
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

export type RequestedFormat =
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

export interface RequestedReasoning {
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
