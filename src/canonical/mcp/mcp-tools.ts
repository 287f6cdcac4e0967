import type { Json } from '../../kit/json/json.ts';
import { mcpLabelForm } from './mcp-server.ts';

/** A tool as its MCP server describes it. */
export interface AnnotatedTool {
  /** The server's own name for it; the name in model requests may differ. */
  readonly name: string;
  readonly annotations: Json | null;
}

export interface McpToolInfo extends AnnotatedTool {
  /** A display name. */
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: Json;
  readonly outputSchema: Json | null;
}

/** A server's tools, or why they are unknown; `trouble` completes a sentence about the server. */
export type McpToolList =
  | { readonly status: 'connected'; readonly tools: readonly McpToolInfo[] }
  | { readonly status: 'failed'; readonly lastError: string };

/** The namespace of a server's tools in model requests. */
export const mcpNamespace = (label: string): string => `mcp__${mcpLabelForm(label)}`;

/** The name of a tool in model requests, unless another tool of its server has the same. */
export const mcpWireName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, '_');

/** codex appends a hash prefix to names that are ambiguous or too long. */
const HASHED = /^(.*)_[0-9a-f]{12}$/s;

interface NamedTool {
  readonly form: string;
  readonly tool: McpToolInfo;
}

/** Finds a server's tools by their names in model requests. Sorted for binary search: there may be thousands. */
export class McpToolNames {
  readonly #sorted: readonly NamedTool[];

  constructor(tools: readonly McpToolInfo[]) {
    this.#sorted = tools
      .map((tool) => ({ form: mcpWireName(tool.name), tool }))
      .toSorted((a, b) => (a.form < b.form ? -1 : Number(a.form > b.form)));
  }

  /** The tool with this name in model requests; `many` if it is ambiguous. */
  find(wireName: string): McpToolInfo | 'many' | null {
    const same = this.#only(wireName, (form) => form === wireName);
    if (same !== null) return same;
    const beginning = HASHED.exec(wireName)?.[1];
    return beginning === undefined ? null : this.#only(beginning, (form) => form.startsWith(beginning));
  }

  /** The only match from `least` on. Forms with a common prefix are adjacent, and `least` sorts before them. */
  #only(least: string, matches: (form: string) => boolean): McpToolInfo | 'many' | null {
    const at = this.#indexOf(least);
    const [first, second] = this.#sorted.slice(at, at + 2);
    if (first === undefined || !matches(first.form)) return null;
    return second !== undefined && matches(second.form) ? 'many' : first.tool;
  }

  #indexOf(least: string): number {
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
