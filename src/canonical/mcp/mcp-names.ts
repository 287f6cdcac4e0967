import { mcpLabelForm } from './mcp-server.ts';
import type { McpToolInfo } from './mcp-tools.ts';

/** The namespace in which a model sees the tools of a server. */
export const mcpNamespace = (label: string): string => `mcp__${mcpLabelForm(label)}`;

/** The name by which a model sees a tool, where no other tool of its server has the same. */
export const mcpWireName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, '_');

/** A name that would stand for two tools, or is too long, has the beginning of a hash behind it. */
const HASHED = /^(.*)_[0-9a-f]{12}$/s;

interface Named {
  readonly form: string;
  readonly tool: McpToolInfo;
}

/** The tools of a server by the names that a model sees. There may be thousands, and each is looked for in every request. */
export class McpToolNames {
  readonly #sorted: readonly Named[];

  constructor(tools: readonly McpToolInfo[]) {
    this.#sorted = tools
      .map((tool) => ({ form: mcpWireName(tool.name), tool }))
      .toSorted((a, b) => (a.form < b.form ? -1 : Number(a.form > b.form)));
  }

  /** The tool that a model means; `many`: it cannot be told which. codex writes names with letters, digits and `_` only. */
  behind(wireName: string): McpToolInfo | 'many' | null {
    const same = this.#only(wireName, (form) => form === wireName);
    if (same !== null) return same;
    const beginning = HASHED.exec(wireName)?.[1];
    return beginning === undefined ? null : this.#only(beginning, (form) => form.startsWith(beginning));
  }

  /** Forms that begin alike stand in a row, of which this is the least that there can be. */
  #only(least: string, isMeant: (form: string) => boolean): McpToolInfo | 'many' | null {
    const at = this.#placeOf(least);
    const [first, second] = this.#sorted.slice(at, at + 2);
    if (first === undefined || !isMeant(first.form)) return null;
    return second !== undefined && isMeant(second.form) ? 'many' : first.tool;
  }

  #placeOf(least: string): number {
    let from = 0;
    let to = this.#sorted.length;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((this.#sorted[middle]?.form ?? '') < least) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
