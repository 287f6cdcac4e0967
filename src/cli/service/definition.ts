import type { Program } from './program.ts';

/** What a service manager has to know. */
export interface ServiceDefinition extends Program {
  readonly variables: Readonly<Record<string, string>>;
  /** How long the server may take to finish its answers when it is stopped. */
  readonly stopSeconds: number;
}

/** The name of the service for its manager. */
export const SERVICE_NAME = 'codex-app-server-proxy';

/** In the first lines of every file that this command writes. Other files are never changed or removed. */
export const MARKER = 'Written by codex-app-server-proxy service install';

/** A file of a service, read back. */
export interface ReadDefinition {
  /** The program and its arguments; empty if it cannot be read. */
  readonly command: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}
