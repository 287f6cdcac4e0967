/** The process that a command runs in. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes messages to standard error. */
  say(text: string): void;
}

/** Resolves to the exit code. `words`: the action and its argument, if the command has actions. */
export type Run = (
  flags: ReadonlySet<string>,
  world: CommandContext,
  words: readonly string[],
) => Promise<number>;

export interface Command {
  /** The line in `--help`. */
  readonly summary: string;
  /** Descriptions by flag. Flags take no value. */
  readonly flags: Readonly<Record<string, string>>;
  /** Descriptions by action: `status`, or `backup FILE` for one with an argument. One of them must be given. */
  readonly actions?: Readonly<Record<string, string>>;
  /** Loaded lazily: `--help` must not load a web server. */
  load(): Promise<Run>;
}
