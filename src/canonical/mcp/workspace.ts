/** A folder that the operator has named, in which codex may work with its own tools. */
export interface Workspace {
  /** Its name in requests. */
  readonly label: string;
  /** The real path of the folder, without links. */
  readonly path: string;
  /** The path as it is configured, made absolute: clients may name the workspace by it. */
  readonly configuredPath: string;
  /** `read`: nothing in it can be changed. */
  readonly access: 'write' | 'read';
  /** The hosts that commands may reach. `all`: everything, also this machine. */
  readonly network: 'none' | 'all' | readonly string[];
  /** Further absolute folders that commands see. */
  readonly read: readonly string[];
  /** Further absolute folders that commands may change. */
  readonly write: readonly string[];
  /** Paths in the workspace that commands cannot read. */
  readonly hide: readonly string[];
  /** Whether `.git` may be changed. */
  readonly git: boolean;
  /** Variables for commands, besides the basic ones. They may be secret. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether calls need approval if the request does not say. */
  readonly requireApproval: 'always' | 'never';
  /** Runs at the same time, on this server. */
  readonly runs: number;
  /** Limits of one run. */
  readonly maxSeconds: number;
  readonly maxModelRequests: number;
  /** A command that is silent for longer ends the run. */
  readonly callSeconds: number;
}
