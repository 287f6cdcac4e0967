/** The process that a command runs in. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes messages to standard error. */
  say(text: string): void;
}

/** Resolves to the exit code. */
export type Run = (flags: ReadonlySet<string>, world: CommandContext) => Promise<number>;

export interface Command {
  /** The line in `--help`. */
  readonly summary: string;
  /** Descriptions by flag. Flags take no value. */
  readonly flags: Readonly<Record<string, string>>;
  /** Loaded lazily: `--help` must not load a web server. */
  load(): Promise<Run>;
}
