import type { FunctionTool } from '../../../canonical/request/tool.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';

/**
 * A tool that Anthropic defines and the client runs. Claude models know its input without a schema; the models of a
 * backend read it here, as the definition of a function.
 */
export interface ClientTool {
  readonly name: string;
  /** What the model needs to know, with the settings of the declaration. */
  readonly define: (declared: JsonObject) => Pick<FunctionTool, 'description' | 'parameters'>;
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
export const CLIENT_TOOLS: ReadonlyMap<string, ClientTool> = new Map([
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
