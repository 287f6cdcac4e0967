import { COMMANDS, type CommandName } from './table.ts';
import type { ProgressReport } from './progress.ts';

export type CommandLine =
  | {
      readonly kind: 'run';
      readonly command: CommandName;
      readonly flags: Flags;
      /** An action and its argument, and the words after `--`. */
      readonly words: readonly string[];
    }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** With a one-line reason. */
  | { readonly kind: 'wrong'; readonly message: string };

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/** Parses the arguments after the program's name. */
export const readCommandLine = (all: readonly string[]): CommandLine => {
  const separator = all.indexOf('--');
  const words = separator < 0 ? all : all.slice(0, separator);
  if (words.some((word) => word === '--help' || word === '-h') || words[0] === 'help')
    return { kind: 'help' };
  if (words.some((word) => word === '--version' || word === '-v')) return { kind: 'version' };
  const [first, ...others] = words;
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'serve';
  if (!isCommand(name)) return wrong(`There is no command ${JSON.stringify(name)}.`);
  const command: Command = COMMANDS[name];
  if (separator >= 0 && command.takesOthers !== true) return wrong(`${name} does not accept "--".`);
  const read = readWords(name, command, isNamed ? others : words);
  if ('kind' in read) return read;
  const problem = actionProblem(command, read.plain);
  return problem === null
    ? {
        kind: 'run',
        command: name,
        flags: read.flags,
        words: [...read.plain, ...(separator < 0 ? [] : all.slice(separator + 1))],
      }
    : wrong(`${name} ${problem}.`);
};

/** Separates flags from other words. */
const readWords = (
  name: CommandName,
  { flags, actions = {} }: Command,
  words: readonly string[],
): { readonly flags: Flags; readonly plain: readonly string[] } | CommandLine => {
  const usages = new Map(Object.keys(flags).map((usage) => [usage.split(' ')[0], usage]));
  const given = new Map<string, string>();
  const plain: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (!word.startsWith('--') && Object.keys(actions).length > 0) {
      plain.push(word);
      continue;
    }
    const [, flag = '', inline] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const usage = usages.get(flag);
    const takesValue = usage?.includes(' ') === true;
    if (usage === undefined || (!takesValue && inline !== undefined))
      return wrong(`${name} does not accept ${JSON.stringify(word)}.`);
    const value = takesValue ? (inline ?? words[(index += 1)]) : '';
    if (value === undefined || (takesValue && value === '')) return wrong(`--${flag} needs a value.`);
    const before = usage.endsWith('…') ? given.get(flag) : undefined;
    given.set(flag, before === undefined ? value : `${before},${value}`);
  }
  return { flags: given, plain };
};

/** Completes the sentence "the command …"; null: the words are one of its actions. */
const actionProblem = (
  { actions = {}, withoutAction }: Command,
  [action, ...others]: readonly string[],
): string | null => {
  const usages = Object.keys(actions);
  if (usages.length === 0 || (action === undefined && withoutAction !== undefined)) return null;
  const known = usages.map((usage) => usage.split(' ')).find(([name]) => name === action);
  if (known === undefined) return `needs one of: ${usages.join(', ')}`;
  const [name = '', ...wanted] = known;
  if (others.length < wanted.length) return `${name} needs ${wanted.slice(others.length).join(' ')}`;
  const more = others[wanted.length];
  return more === undefined ? null : `${name} does not accept ${JSON.stringify(more)}`;
};

const wrong = (message: string): CommandLine => ({
  kind: 'wrong',
  message: `${message} See codex-app-server-proxy --help.`,
});

/** The process that a command runs in. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes messages to standard error. */
  say(text: string): void;
  /** Asks the user a question that is answered with y or n. Null: there is no terminal. */
  confirm(question: string): Promise<boolean | null>;
  /** Shows on standard error what takes time: `checking codex`. The caller ends it. */
  progress(text: string): ProgressReport;
}

/** The given flags with their values; the value of a flag that takes none is empty. */
export type Flags = ReadonlyMap<string, string>;

/**
 * Resolves to the exit code. `words`: the action and its argument, if the command has actions, and then the words after
 * `--`, if the command accepts them.
 */
export type RunCommand = (flags: Flags, world: CommandContext, words: readonly string[]) => Promise<number>;

export interface Command {
  /** The line in `--help`. */
  readonly summary: string;
  /**
   * Descriptions by flag: `json`, or `url URL` for one with a value. The values of `models LIST…`, which may be given several
   * times, are joined with commas.
   */
  readonly flags: Readonly<Record<string, string>>;
  /** Descriptions by action: `status`, or `backup FILE` for one with an argument. */
  readonly actions?: Readonly<Record<string, string>>;
  /** What the command does without an action. Without this one must be given. */
  readonly withoutAction?: string;
  /** Whether words after `--` are accepted, which are for another program. */
  readonly takesOthers?: boolean;
  /** Loaded lazily: `--help` must not load a web server. */
  load(): Promise<RunCommand>;
}
