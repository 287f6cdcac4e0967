import type { z } from 'zod';

import type { JsonObject } from '../kit/json/json.ts';

/** Where MCP servers are named, and whose variables `${NAME}` means. */
export interface McpPlace {
  /** Begins every message, with the path of the file. */
  readonly prefix: string;
  /** Relative folders are taken from its folder. */
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Reads the entries of `mcpServers`, one after the other, and collects what is wrong with them. */
export class EntryReader {
  readonly from: McpPlace;
  readonly problems: string[] = [];
  readonly warnings: string[] = [];
  /** The name of the entry. */
  label = '';

  constructor(from: McpPlace) {
    this.from = from;
  }

  given<T>(entry: JsonObject, field: string, schema: z.ZodType<T>, allowed: string): T | undefined {
    if (entry[field] === undefined) return undefined;
    // zod drops this key from a record.
    const isOdd = typeof entry[field] === 'object' && Object.hasOwn(entry[field] ?? {}, '__proto__');
    const parsed = schema.safeParse(isOdd ? null : entry[field]);
    if (!parsed.success) this.problem(field, `must be ${allowed}`);
    return parsed.data;
  }

  expandAll(field: string, texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, this.expand(`${field}.${name}`, text)]),
    );
  }

  /** Replaces `${NAME}` by a variable of our environment, and `${NAME:-text}` by the text if it is not set. */
  expand(field: string, text: string): string {
    return text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
      const value = this.from.environment[name] ?? otherwise;
      if (value === undefined) this.problem(field, `names the variable ${name}, which is not set`);
      return value ?? '';
    });
  }

  /** Of a field of the entry; of the entry as a whole with an empty name. */
  problem(field: string, text: string): void {
    this.problems.push(this.line(`${this.#place(field)} ${text}`));
  }

  warning(field: string, text: string): void {
    this.warnings.push(this.line(`${this.#place(field)} ${text}`));
  }

  line(text: string): string {
    return `${this.from.prefix}: ${text}.`;
  }

  #place(field: string): string {
    const at = `\`mcpServers.${this.label.slice(0, 100)}`;
    return field === '' ? `${at}\`:` : `${at}.${field}\``;
  }
}
