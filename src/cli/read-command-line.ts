import { COMMANDS, type CommandName } from './table.ts';
import type { Command } from './command.ts';

export type CommandLine =
  | {
      readonly kind: 'run';
      readonly command: CommandName;
      readonly flags: ReadonlySet<string>;
      /** An action and its argument. */
      readonly words: readonly string[];
    }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** With a one-line reason. */
  | { readonly kind: 'wrong'; readonly message: string };

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/** Parses the arguments after the program's name. */
export const readCommandLine = (words: readonly string[]): CommandLine => {
  if (words.some((word) => word === '--help' || word === '-h') || words[0] === 'help')
    return { kind: 'help' };
  if (words.some((word) => word === '--version' || word === '-v')) return { kind: 'version' };
  const [first, ...others] = words;
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'serve';
  if (!isCommand(name)) return wrong(`There is no command ${JSON.stringify(name)}.`);
  const { flags, actions = {} }: Command = COMMANDS[name];
  const given = new Set<string>();
  const plain: string[] = [];
  for (const word of isNamed ? others : words) {
    const flag = word.replace(/^--/, '');
    if (word === flag && Object.keys(actions).length > 0) plain.push(word);
    else if (word === flag || !Object.hasOwn(flags, flag))
      return wrong(`${name} does not accept ${JSON.stringify(word)}.`);
    else given.add(flag);
  }
  const problem = actionProblem(Object.keys(actions), plain);
  return problem === null
    ? { kind: 'run', command: name, flags: given, words: plain }
    : wrong(`${name} ${problem}.`);
};

/** Completes the sentence "the command …"; null: the words are one of its actions. */
const actionProblem = (actions: readonly string[], [action, ...others]: readonly string[]): string | null => {
  if (actions.length === 0) return null;
  const known = actions.map((usage) => usage.split(' ')).find(([name]) => name === action);
  if (known === undefined) return `needs one of: ${actions.join(', ')}`;
  return known.length === others.length + 1 ? null : `needs one of: ${actions.join(', ')}`;
};

const wrong = (message: string): CommandLine => ({
  kind: 'wrong',
  message: `${message} See codex-app-server-proxy --help.`,
});
