import type { Progress } from './progress.ts';

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
  progress(text: string): Progress;
}

/** The given flags with their values; the value of a flag that takes none is empty. */
export type Flags = ReadonlyMap<string, string>;

/**
 * Resolves to the exit code. `words`: the action and its argument, if the command has actions, and then the words after
 * `--`, if the command accepts them.
 */
export type Run = (flags: Flags, world: CommandContext, words: readonly string[]) => Promise<number>;

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
  load(): Promise<Run>;
}
