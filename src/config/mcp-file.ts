import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

import { z } from 'zod';

import {
  isMcpLabel,
  MCP_CALL_SECONDS,
  MCP_STARTUP_SECONDS,
  mcpHeaderProblem,
  mcpLabelForm,
  mcpUrlProblem,
  type McpServer,
  type McpTransport,
} from '../canonical/mcp/mcp-server.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The servers of a file in the usual `mcpServers` form, and everything that is wrong or odd about it. */
export interface McpFile {
  readonly servers: readonly McpServer[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const SETTING = 'PROXY_MCP_CONFIG';
const MAX_FILE_BYTES = 1024 * 1024;
/** Each stdio server is a process for every thread that uses it. */
const MAX_SERVERS = 64;
const MAX_SECONDS = 3_600;

export const readMcpFile = (file: string, environment: Environment): McpFile => {
  const failed = (problem: string): McpFile => ({
    servers: [],
    problems: [`${SETTING}: ${file} ${problem}`],
    warnings: [],
  });
  let text: string;
  try {
    const found = statSync(file);
    // Of a pipe the end may never come.
    if (!found.isFile()) return failed('is not a file.');
    if (found.size > MAX_FILE_BYTES) return failed('is larger than 1 MB.');
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return failed(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser would quote what stands there, which may be a token.
    return failed('is not JSON.');
  }
  const entries = isJsonObject(value) ? value['mcpServers'] : undefined;
  if (!isJsonObject(entries)) return failed('must be an object with the member `mcpServers`, an object.');
  return new FileReader(file, environment).read(entries);
};

const FIELDS = {
  both: ['type', 'disabled', 'startup_timeout_sec', 'tool_timeout_sec', 'require_approval'],
  stdio: ['command', 'args', 'env', 'cwd'],
  http: ['url', 'headers'],
} as const;

const TEXTS = z.array(z.string());
const TEXT_BY_NAME = z.record(z.string(), z.string());
const APPROVAL = z.enum(['always', 'never']);
const SECONDS = z.number().min(1).max(MAX_SECONDS);

/** The words that other programs have for the transport. */
const TYPES: Readonly<Record<string, McpTransport['kind']>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
};

class FileReader {
  readonly #file: string;
  readonly #environment: Environment;
  readonly #problems: string[] = [];
  readonly #warnings: string[] = [];
  #label = '';

  constructor(file: string, environment: Environment) {
    this.#file = file;
    this.#environment = environment;
  }

  read(entries: JsonObject): McpFile {
    const servers: McpServer[] = [];
    const forms = new Map<string, string>();
    for (const [label, entry] of Object.entries(entries)) {
      this.#label = label;
      const other = forms.get(mcpLabelForm(label));
      forms.set(mcpLabelForm(label), label);
      if (!isMcpLabel(label)) {
        this.#problem('', 'the name of a server has 1 to 64 letters, digits, `_` and `-`');
      } else if (other !== undefined) {
        this.#problem('', `the name cannot be told from \`${other}\`: for a model \`-\` becomes \`_\``);
      } else if (isJsonObject(entry)) servers.push(...this.#server(entry));
      else this.#problem('', 'must be an object');
    }
    if (servers.length > MAX_SERVERS)
      this.#problems.push(this.#line(`names more than ${MAX_SERVERS} servers`));
    return { servers, problems: this.#problems, warnings: this.#warnings };
  }

  #server(entry: JsonObject): readonly McpServer[] {
    const kind = this.#kind(entry);
    if (kind === null) return [];
    const known = new Set<string>([...FIELDS.both, ...FIELDS[kind]]);
    for (const field of Object.keys(entry)) {
      if (!known.has(field))
        this.#warnings.push(this.#line(`${this.#place(field)} is unknown and has no effect`));
    }
    // What is switched off may be unfinished.
    if (this.#given(entry, 'disabled', z.boolean(), 'true or false') === true) return [];
    const seconds = `a number from 1 to ${MAX_SECONDS}`;
    return [
      {
        label: this.#label,
        transport: kind === 'stdio' ? this.#stdio(entry) : this.#http(entry),
        startupSeconds: this.#given(entry, 'startup_timeout_sec', SECONDS, seconds) ?? MCP_STARTUP_SECONDS,
        callSeconds: this.#given(entry, 'tool_timeout_sec', SECONDS, seconds) ?? MCP_CALL_SECONDS,
        requireApproval: this.#given(entry, 'require_approval', APPROVAL, '`always` or `never`') ?? 'always',
      },
    ];
  }

  #kind(entry: JsonObject): McpTransport['kind'] | null {
    const { type } = entry;
    const said = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
    if (type === 'sse') {
      this.#problem('type', 'is `sse`, the transport before streamable HTTP, which is not served');
    } else if (type !== undefined && said === undefined) {
      this.#problem('type', 'must be stdio or http');
    } else if ((entry['command'] === undefined) === (entry['url'] === undefined)) {
      this.#problem('', 'must have either `command` or `url`');
    } else {
      const kind = entry['url'] === undefined ? 'stdio' : 'http';
      if (said === undefined || said === kind) return kind;
      this.#problem('type', `is not that of a server with \`${kind === 'http' ? 'url' : 'command'}\``);
    }
    return null;
  }

  #stdio(entry: JsonObject): McpTransport {
    const env = this.#given(entry, 'env', TEXT_BY_NAME, 'an object of texts') ?? {};
    const cwd = this.#given(entry, 'cwd', z.string(), 'a text');
    return {
      kind: 'stdio',
      command: this.#expand('command', this.#given(entry, 'command', z.string().min(1), 'a text') ?? ''),
      args: (this.#given(entry, 'args', TEXTS, 'an array of texts') ?? []).map((text, index) =>
        this.#expand(`args[${index}]`, text),
      ),
      env: this.#expandAll('env', env),
      cwd: cwd === undefined ? null : path.resolve(path.dirname(this.#file), this.#expand('cwd', cwd)),
    };
  }

  #http(entry: JsonObject): McpTransport {
    const url = this.#expand('url', this.#given(entry, 'url', z.string(), 'a text') ?? '');
    const headers = this.#expandAll(
      'headers',
      this.#given(entry, 'headers', TEXT_BY_NAME, 'an object of texts') ?? {},
    );
    const wrong = mcpUrlProblem(url);
    if (wrong !== null) this.#problem('url', wrong);
    for (const [name, value] of Object.entries(headers)) {
      const problem = mcpHeaderProblem(name, value);
      if (problem !== null) this.#problem(`headers.${name}`, problem);
    }
    return { kind: 'http', url, headers };
  }

  #given<T>(entry: JsonObject, field: string, schema: z.ZodType<T>, allowed: string): T | undefined {
    if (entry[field] === undefined) return undefined;
    const parsed = schema.safeParse(entry[field]);
    if (!parsed.success) this.#problem(field, `must be ${allowed}`);
    return parsed.data;
  }

  #expandAll(field: string, texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, this.#expand(`${field}.${name}`, text)]),
    );
  }

  /** `${NAME}` is a variable of our environment, `${NAME:-text}` the text where it is not set. */
  #expand(field: string, text: string): string {
    return text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
      const value = this.#environment[name] ?? otherwise;
      if (value === undefined) this.#problem(field, `names the variable ${name}, which is not set`);
      return value ?? '';
    });
  }

  #problem(field: string, text: string): void {
    this.#problems.push(this.#line(`${this.#place(field)} ${text}`));
  }

  #place(field: string): string {
    const at = `\`mcpServers.${this.#label.slice(0, 100)}`;
    return field === '' ? `${at}\`:` : `${at}.${field}\``;
  }

  #line(text: string): string {
    return `${SETTING}: ${this.#file}: ${text}.`;
  }
}
