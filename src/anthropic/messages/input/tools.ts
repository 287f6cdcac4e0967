import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { FunctionTool, HostedTool, Tool, FunctionSignature } from '../../../canonical/request/tool.ts';
import { idText, jsonObject, listOf, longText, MAX_WORDS } from '../../../apis/bounds.ts';
import { checkTools, type SchemaBudget } from '../../../apis/schema-problem.ts';
import { noteUnread, notAnObject, parseBody } from '../../../apis/validation.ts';
import { backendName, type ClientNames } from '../tool-names.ts';
import { readMcpServers, type Toolset } from './mcp-servers.ts';
import { isJsonObject, present, textIn, type JsonObject, type Json } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';

/**
 * A tool that Anthropic defines and the client runs. Claude models know its input without a schema; the models of a
 * backend read it here, as the definition of a function.
 */
interface ClientTool {
  readonly name: string;
  /** What the model needs to know, with the settings of the declaration. */
  readonly define: (declared: JsonObject) => FunctionSignature;
  /** The settings that a declaration may have. */
  readonly settings: readonly string[];
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const integer = (description: string): JsonObject => ({ type: 'integer', description });
const oneOf = (values: readonly string[], description: string): JsonObject => ({
  type: 'string',
  enum: values,
  description,
});
const numbers = (count: number, description: string): JsonObject => ({
  type: 'array',
  items: { type: 'integer' },
  minItems: count,
  maxItems: count,
  description,
});
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});

const BASH: ClientTool = {
  name: 'bash',
  settings: [],
  define: () => ({
    description:
      'Runs a command in a bash shell that keeps its state between calls: its folder, variables and background jobs. Commands must not wait for input.',
    parameters: object(
      {
        command: text('The command to run. Required unless the shell is restarted.'),
        restart: {
          type: 'boolean',
          description: 'Restarts the shell, for example after it stopped answering.',
        },
      },
      [],
    ),
  }),
};

const PATH = text('An absolute path of a file or folder, such as `/repo/file.py` or `/repo`.');
const VIEW_RANGE = numbers(
  2,
  'For `view` of a file: the first and the last line to show, from 1. -1 as the last means up to the end.',
);
const FILE_TEXT = text('For `create`: the content of the file.');
const OLD_STR = text('For `str_replace`: the text to replace. It must occur exactly once.');
const INSERT_LINE = integer('For `insert`: the line after which the text is inserted; 0 for the beginning.');

/** The editor has two names for the text to insert. */
interface EditorForm {
  readonly name: string;
  readonly commands: readonly string[];
  readonly insertField: 'new_str' | 'insert_text';
}

const editor = ({ name, commands, insertField }: EditorForm): ClientTool => ({
  name,
  settings: ['max_characters'],
  define({ max_characters: limit }) {
    const undo = commands.includes('undo_edit') ? ' `undo_edit` takes the last change of a file back.' : '';
    const cut = typeof limit === 'number' ? ` \`view\` shows at most ${limit} characters of a file.` : '';
    return {
      description: `Views, creates and edits text files. \`view\` shows a file with line numbers, or the names in a folder.${undo}${cut}`,
      parameters: object(
        {
          command: oneOf(commands, 'What to do.'),
          path: PATH,
          file_text: FILE_TEXT,
          old_str: OLD_STR,
          new_str: text(
            insertField === 'new_str'
              ? 'For `str_replace`: the new text, empty if it is left out. For `insert`: the text to insert.'
              : 'For `str_replace`: the new text, empty if it is left out.',
          ),
          insert_line: INSERT_LINE,
          ...(insertField === 'insert_text'
            ? { insert_text: text('For `insert`: the text to insert.') }
            : {}),
          view_range: VIEW_RANGE,
        },
        ['command', 'path'],
      ),
    };
  },
});

const COMMANDS = ['view', 'create', 'str_replace', 'insert'];
const OLD_EDITOR = editor({
  name: 'str_replace_editor',
  commands: [...COMMANDS, 'undo_edit'],
  insertField: 'new_str',
});
const EDITOR_NAME = 'str_replace_based_edit_tool';

const MEMORY: ClientTool = {
  name: 'memory',
  settings: [],
  define: () => ({
    description:
      'Keeps notes between conversations, as text files in the folder `/memories`. View the folder before you begin a task, and write down what a later conversation needs.',
    parameters: object(
      {
        command: oneOf([...COMMANDS, 'delete', 'rename'], 'What to do.'),
        path: text('The file or folder, below `/memories`. For all commands but `rename`.'),
        view_range: VIEW_RANGE,
        file_text: FILE_TEXT,
        old_str: OLD_STR,
        new_str: text('For `str_replace`: the new text.'),
        insert_line: INSERT_LINE,
        insert_text: text('For `insert`: the text to insert.'),
        old_path: text('For `rename`: the present path.'),
        new_path: text('For `rename`: the new path.'),
      },
      ['command'],
    ),
  }),
};

const FIRST_ACTIONS = [
  'key',
  'type',
  'mouse_move',
  'left_click',
  'left_click_drag',
  'right_click',
  'middle_click',
  'double_click',
  'screenshot',
  'cursor_position',
];
const LATER_ACTIONS = ['left_mouse_down', 'left_mouse_up', 'triple_click', 'scroll', 'hold_key', 'wait'];

const computer = (actions: readonly string[], more: JsonObject = {}): ClientTool => ({
  name: 'computer',
  settings: ['display_width_px', 'display_height_px', 'display_number', 'enable_zoom'],
  define({ display_width_px: width, display_height_px: height, enable_zoom: zooms }) {
    const canZoom = zooms === true && 'region' in more;
    const { region, ...fields } = more;
    return {
      description: `Uses a computer with mouse and keyboard, and looks at its screen${sizeOf(width, height)}. Take a screenshot to see what an action did.`,
      parameters: object(
        {
          action: oneOf(canZoom ? [...actions, 'zoom'] : actions, 'What to do.'),
          coordinate: numbers(2, 'x and y in pixels from the upper left corner, for actions of the mouse.'),
          text: text('The text to type, or the keys to press, such as `Return` or `ctrl+s`.'),
          ...fields,
          ...(canZoom && region !== undefined ? { region } : {}),
        },
        ['action'],
      ),
    };
  },
});

const sizeOf = (width: Json | undefined, height: Json | undefined): string =>
  typeof width === 'number' && typeof height === 'number' ? ` of ${width} × ${height} pixels` : '';

const LATER_FIELDS: JsonObject = {
  start_coordinate: numbers(2, 'For `left_click_drag`: x and y of its start.'),
  scroll_direction: oneOf(['up', 'down', 'left', 'right'], 'For `scroll`.'),
  scroll_amount: integer('For `scroll`: the number of steps.'),
  duration: { type: 'number', description: 'For `hold_key` and `wait`: seconds.' },
};
const ZOOM = { region: numbers(4, 'For `zoom`: left, top, right and bottom of the part to look at.') };

/** By the type of the declaration. */
const CLIENT_TOOLS: ReadonlyMap<string, ClientTool> = new Map([
  ['bash_20241022', BASH],
  ['bash_20250124', BASH],
  ['text_editor_20241022', OLD_EDITOR],
  ['text_editor_20250124', OLD_EDITOR],
  ['text_editor_20250429', editor({ name: EDITOR_NAME, commands: COMMANDS, insertField: 'new_str' })],
  ['text_editor_20250728', editor({ name: EDITOR_NAME, commands: COMMANDS, insertField: 'insert_text' })],
  ['memory_20250818', MEMORY],
  ['computer_20241022', computer(FIRST_ACTIONS)],
  ['computer_20250124', computer([...FIRST_ACTIONS, ...LATER_ACTIONS], LATER_FIELDS)],
  ['computer_20251124', computer([...FIRST_ACTIONS, ...LATER_ACTIONS], { ...LATER_FIELDS, ...ZOOM })],
]);

export interface ReadMessagesTools {
  /** Tools that the model has from the beginning. */
  readonly tools: readonly Tool[];
  /** Tools that the model gets when the conversation refers to them, by name. */
  readonly deferred: ReadonlyMap<string, Tool>;
  /** Limit on web searches; null: none. */
  readonly maxToolCalls: number | null;
  readonly clientNames: ClientNames;
  /** The location of a tool in the body. */
  readonly placeOf: (index: number) => string;
}

interface ReadTool {
  readonly tool: Tool;
  /** As the client named it. */
  readonly name: string;
  readonly isDeferred: boolean;
  readonly maxUses: number | null;
}

/** Anthropic's limits. */
const toolName = z
  .string()
  .regex(
    /^[a-zA-Z0-9_-]{1,128}$/,
    'expected letters, digits, underscores and dashes, at most 128 characters.',
  );

const common = {
  defer_loading: z.boolean().nullish(),
  // Without effect, because prompts are cached and arguments are streamed anyway.
  cache_control: z.unknown().optional(),
  eager_input_streaming: z.unknown().optional(),
};

const functionSchema = z.object({
  type: z.literal('custom').nullish(),
  name: toolName,
  description: longText.nullish(),
  input_schema: jsonObject,
  strict: z.boolean().nullish(),
  ...common,
});

const domains = listOf(z.string().max(1_000), MAX_WORDS).nullish();
const webSearchSchema = z.object({
  type: z.string(),
  name: z.literal('web_search'),
  allowed_domains: domains,
  max_uses: z.int().min(1).nullish(),
  user_location: jsonObject.nullish(),
  ...common,
});

/** Made once: making one takes ten times as long as using it, and a request may declare a thousand tools. */
const CLIENT_SCHEMAS = new Map(
  CLIENT_TOOLS.entries().map(([type, { name, settings }]) => {
    const fields = Object.fromEntries(settings.map((setting) => [setting, z.unknown().optional()]));
    return [type, z.object({ type: z.string(), name: z.literal(name), ...fields, ...common })] as const;
  }),
);

/** Claude Code declares it while it has no other deferred tool. No model may call it. */
const PLACEHOLDER = 'DeferredToolPlaceholder';

const WEB_SEARCH = /^web_search_\d{8}$/;

const isToolset = (value: unknown): value is JsonObject =>
  isJsonObject(value) && value['type'] === 'mcp_toolset';

/** Reads the tools and MCP servers of a request. Fields without effect are added to `ignored`. */
export const readTools = (
  parsed: readonly unknown[],
  ignored: string[],
  servers: readonly unknown[] = [],
): ReadMessagesTools => {
  const places = parsed.map((_, index) => `tools[${index}]`);
  const toolsets = parsed.flatMap((value, index): readonly Toolset[] =>
    isToolset(value) ? [[value, places[index] ?? 'tools']] : [],
  );
  const placed = parsed.flatMap((value, index) =>
    isToolset(value) ? [] : [[value, places[index] ?? 'tools'] as const],
  );
  const read = placed.map(([value, at]) => readTool(value, at, ignored));
  const placeOf = (index: number): string => placed[index]?.[1] ?? 'tools';
  checkTools(
    read.map(({ tool }) => tool),
    placeOf,
    'input_schema',
  );
  rejectRepeated(read, placeOf);
  const mcp = readMcpServers(servers, toolsets, ignored);
  const shown = read.flatMap(({ isDeferred }, index) => (isDeferred ? [] : [placeOf(index)]));
  const allPlaces = [...shown, ...mcp.places];
  return {
    tools: [...read.flatMap(({ tool, isDeferred }) => (isDeferred ? [] : [tool])), ...mcp.tools],
    deferred: new Map(
      read.flatMap(({ tool, isDeferred }) => (isDeferred ? [[nameOfTool(tool), tool] as const] : [])),
    ),
    clientNames: new Map(read.flatMap(renamedOf)),
    maxToolCalls: read.find(({ maxUses }) => maxUses !== null)?.maxUses ?? null,
    placeOf: (index) => allPlaces[index] ?? `tools[${index}]`,
  };
};

/** A function may not have the name of the web search: a conversation refers to both by their names. */
const rejectRepeated = (read: readonly ReadTool[], placeOf: (index: number) => string): void => {
  const names = read.map(({ name }) => name);
  const index = names.findIndex((name, at) => names.indexOf(name) < at);
  if (index < 0) return;
  const param = `${placeOf(index)}.name`;
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': duplicate tool name '${quoted(names[index] ?? '')}'.`,
  });
};

/** Reads a tool that a message defines. `budget` is for all of them. */
export const readInlineTool = (
  value: unknown,
  at: string,
  { ignored, budget }: { readonly ignored: string[]; readonly budget: SchemaBudget },
): ReadTool => {
  const read = readTool(value, at, ignored);
  checkTools([read.tool], () => at, 'input_schema', budget);
  return read;
};

/** The client's name of a tool by the backend's name, if they differ. */
export const renamedOf = ({ tool, name }: ReadTool): readonly (readonly [string, string])[] =>
  tool.kind === 'function' && tool.name !== name ? [[tool.name, name]] : [];

/** Reads one tool: a function of the client, a tool that Anthropic defines for it, or the web search of the backend. */
const readTool = (value: unknown, at: string, ignored: string[]): ReadTool => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const type = parseBody(idText, value['type'] ?? 'custom', `${at}.type`);
  if (type === 'custom') return readFunction(value, at, ignored);
  if (WEB_SEARCH.test(type)) return readWebSearch(value, at, ignored);
  const known = CLIENT_TOOLS.get(type);
  const schema = CLIENT_SCHEMAS.get(type);
  if (known === undefined || schema === undefined) throw unsupported(type, at);
  const { name, defer_loading: isDeferred } = parseBody(schema, value, at);
  noteUnread(ignored, schema, value, at);
  const tool: FunctionTool = { kind: 'function', name, ...known.define(value), strict: false };
  return { tool, name, isDeferred: isDeferred === true, maxUses: null };
};

/** The name by which a conversation refers to a tool. */
export const nameOfTool = (tool: Tool): string => {
  if (tool.kind !== 'hosted') return tool.name;
  const { type } = tool.raw;
  return type === 'mcp' ? `mcp:${textIn(tool.raw, 'server_label')}` : type;
};

const readFunction = (value: object, at: string, ignored: string[]): ReadTool => {
  const parsed = parseBody(functionSchema, value, at);
  noteUnread(ignored, functionSchema, value, at);
  const tool: FunctionTool = {
    kind: 'function',
    name: backendName(parsed.name),
    description: parsed.description ?? null,
    parameters: parsed.input_schema,
    // A Responses backend takes an absent value as true.
    strict: parsed.strict ?? false,
  };
  const isDeferred = parsed.defer_loading === true || parsed.name === PLACEHOLDER;
  return { tool, name: parsed.name, isDeferred, maxUses: null };
};

const readWebSearch = (value: object, at: string, ignored: string[]): ReadTool => {
  const parsed = parseBody(webSearchSchema, value, at);
  noteUnread(ignored, webSearchSchema, value, at);
  const { allowed_domains: allowed, user_location: location } = parsed;
  const tool: HostedTool = {
    kind: 'hosted',
    raw: {
      type: 'web_search',
      ...(allowed && allowed.length > 0 ? { filters: { allowed_domains: allowed } } : {}),
      ...(location ? { user_location: present(location) } : {}),
    },
  };
  const isDeferred = parsed.defer_loading === true;
  return { tool, name: parsed.name, isDeferred, maxUses: parsed.max_uses ?? null };
};

/** Tools that Anthropic defines and the client runs. */
const RUN_BY_CLIENT = /^(?:bash|text_editor|memory|computer|browser)_/;

const unsupported = (type: string, at: string): GatewayError => {
  const param = `${at}.type`;
  const why = RUN_BY_CLIENT.test(type)
    ? 'only Claude models know its input. Declare a tool with an input_schema instead.'
    : "it would run on Anthropic's servers. Remove it from the request.";
  return gatewayError('unsupported_tool', {
    param,
    message: `Unsupported tool: '${param}' is '${quoted(type)}', which this server does not have: ${why}`,
  });
};
