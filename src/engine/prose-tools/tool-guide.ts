/** Explains tool parameters to a model. The implementation runs in a thread, because a client's schema may take long. */
export interface ToolGuide {
  /** One result for each schema, which is JSON text; null where it took too long. Never rejects. */
  guide(schemas: readonly string[], caller: string): Promise<readonly (Guidance | null)[]>;
}

export interface Guidance {
  /** A line for each parameter. */
  readonly parameters: readonly string[];
  /** Arguments that match the schema, as JSON text; null: not found. */
  readonly example: string | null;
}
