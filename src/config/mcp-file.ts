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
import type { Workspace } from '../canonical/mcp/workspace.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import { readJsonFile } from './config-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** MCP servers in the usual `mcpServers` form, with all errors and warnings. */
export interface McpFile {
  readonly servers: readonly McpServer[];
  readonly workspaces: readonly Workspace[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export const NO_SERVERS: McpFile = { servers: [], workspaces: [], problems: [], warnings: [] };

const SETTING = 'PROXY_MCP_CONFIG';
/** Each stdio server is a process for every thread that uses it. */
const MAX_SERVERS = 64;
const MAX_SECONDS = 3_600;

/** Where servers are named, and whose variables `${NAME}` means. */
interface McpPlace {
  /** Begins every message, with the path of the file. */
  readonly prefix: string;
  /** Relative folders are taken from its folder. */
  readonly file: string;
  readonly environment: Environment;
}

export const readMcpFile = (file: string, environment: Environment): McpFile => {
  const failed = (problem: string): McpFile => ({
    ...NO_SERVERS,
    problems: [`${SETTING}: ${file} ${problem}`],
  });
  const read = readJsonFile(file);
  if ('problem' in read) return failed(read.problem);
  const entries = isJsonObject(read.value) ? read.value['mcpServers'] : undefined;
  if (!isJsonObject(entries)) return failed('must be an object with the member `mcpServers`, an object.');
  return readConfiguredServers(entries, { prefix: `${SETTING}: ${file}`, file, environment });
};

/** The value of `mcpServers`. */
export const readConfiguredServers = (entries: JsonObject, place: McpPlace): McpFile =>
  new ServersReader(place).read(entries);

/** The names that other programs use for the transport. */
const TYPES: Readonly<Record<string, McpTransport['kind']>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
};

const TEXT_BY_NAME = z.record(z.string(), z.string());
const SECONDS = z.number().min(1).max(MAX_SECONDS);

/** The fields of a server, for both transports and for each. The JSON schema of the config file has them too. */
export const MCP_FIELDS = {
  both: {
    type: z.enum(Object.keys(TYPES)),
    disabled: z.boolean(),
    startup_timeout_sec: SECONDS,
    tool_timeout_sec: SECONDS,
    require_approval: z.enum(['always', 'never']),
  },
  stdio: { command: z.string().min(1), args: z.array(z.string()), env: TEXT_BY_NAME, cwd: z.string() },
  http: { url: z.string(), headers: TEXT_BY_NAME },
} as const;

const { both: BOTH, stdio: STDIO, http: HTTP } = MCP_FIELDS;

class ServersReader {
  readonly #from: McpPlace;
  readonly #problems: string[] = [];
  readonly #warnings: string[] = [];
  #label = '';

  constructor(from: McpPlace) {
    this.#from = from;
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
        this.#problem('', `the name is too similar to \`${other}\`: for a model \`-\` becomes \`_\``);
      } else if (isJsonObject(entry)) servers.push(...this.#server(entry));
      else this.#problem('', 'must be an object');
    }
    if (servers.length > MAX_SERVERS)
      this.#problems.push(this.#line(`names more than ${MAX_SERVERS} servers`));
    return { servers, workspaces: [], problems: this.#problems, warnings: this.#warnings };
  }

  #server(entry: JsonObject): readonly McpServer[] {
    const kind = this.#kind(entry);
    if (kind === null) return [];
    const known = new Set(Object.keys({ ...BOTH, ...MCP_FIELDS[kind] }));
    for (const field of Object.keys(entry)) {
      if (!known.has(field))
        this.#warnings.push(this.#line(`${this.#place(field)} is unknown and has no effect`));
    }
    // A disabled server may be incomplete.
    if (this.#given(entry, 'disabled', BOTH.disabled, 'true or false') === true) return [];
    const seconds = `a number from 1 to ${MAX_SECONDS}`;
    return [
      {
        label: this.#label,
        transport: kind === 'stdio' ? this.#stdio(entry) : this.#http(entry),
        startupSeconds:
          this.#given(entry, 'startup_timeout_sec', BOTH.startup_timeout_sec, seconds) ?? MCP_STARTUP_SECONDS,
        callSeconds:
          this.#given(entry, 'tool_timeout_sec', BOTH.tool_timeout_sec, seconds) ?? MCP_CALL_SECONDS,
        requireApproval:
          this.#given(entry, 'require_approval', BOTH.require_approval, '`always` or `never`') ?? 'always',
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
    const env = this.#given(entry, 'env', STDIO.env, 'an object of strings') ?? {};
    const cwd = this.#given(entry, 'cwd', STDIO.cwd, 'a string');
    return {
      kind: 'stdio',
      command: this.#expand(
        'command',
        this.#given(entry, 'command', STDIO.command, 'a non-empty string') ?? '',
      ),
      args: (this.#given(entry, 'args', STDIO.args, 'an array of strings') ?? []).map((text, index) =>
        this.#expand(`args[${index}]`, text),
      ),
      env: this.#expandAll('env', env),
      cwd: cwd === undefined ? null : path.resolve(path.dirname(this.#from.file), this.#expand('cwd', cwd)),
    };
  }

  #http(entry: JsonObject): McpTransport {
    const url = this.#expand('url', this.#given(entry, 'url', HTTP.url, 'a string') ?? '');
    const headers = this.#expandAll(
      'headers',
      this.#given(entry, 'headers', HTTP.headers, 'an object of strings') ?? {},
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

  /** Replaces `${NAME}` by a variable of our environment, and `${NAME:-text}` by the text if it is not set. */
  #expand(field: string, text: string): string {
    return text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
      const value = this.#from.environment[name] ?? otherwise;
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
    return `${this.#from.prefix}: ${text}.`;
  }
}
