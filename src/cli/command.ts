/** What a command may know of the process that it runs in. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Results: standard output. */
  out(text: string): void;
  /** Words for a person: standard error. */
  say(text: string): void;
}

/** Resolves to the exit code. */
export type Run = (flags: ReadonlySet<string>, world: CommandContext) => Promise<number>;

export interface Command {
  /** Completes the line of `--help`. */
  readonly summary: string;
  /** Each with what it does. A flag takes no value. */
  readonly flags: Readonly<Record<string, string>>;
  /** Loaded when it is asked for: `--help` must not wait for a web server. */
  load(): Promise<Run>;
}
