/**
 * Explains the parameters of a tool to a model. A port: the real one works in a thread, because the
 * schema of a stranger may keep it busy for as long as it likes.
 */
export interface ToolGuide {
  /** One for each schema, as JSON text; null where it took too long. Never rejects. */
  guide(schemas: readonly string[], caller: string): Promise<readonly (Guidance | null)[]>;
}

export interface Guidance {
  /** A line for each parameter. */
  readonly parameters: readonly string[];
  /** Arguments that fit the schema, as JSON text; null: none were found. */
  readonly example: string | null;
}
