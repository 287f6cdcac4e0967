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
import { EntryReader, type McpPlace } from './entry-reader.ts';
import {
  checkPlaces,
  folderOfConfiguration,
  readWorkspace,
  WORKSPACE_FIELDS,
  type ProtectedFolder,
} from './workspace-entries.ts';

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

/** `hidden`: what no workspace may contain, besides the folder of the file. */
export const readMcpFile = (
  file: string,
  environment: McpPlace['environment'],
  hidden: readonly ProtectedFolder[],
): McpFile => {
  const failed = (problem: string): McpFile => ({
    ...NO_SERVERS,
    problems: [`${SETTING}: ${file} ${problem}`],
  });
  const read = readJsonFile(file);
  if ('problem' in read) return failed(read.problem);
  const entries = isJsonObject(read.value) ? read.value['mcpServers'] : undefined;
  if (!isJsonObject(entries)) return failed('must be an object with the member `mcpServers`, an object.');
  return readConfiguredServers(entries, { prefix: `${SETTING}: ${file}`, file, environment }, hidden);
};

/** The value of `mcpServers`. */
export const readConfiguredServers = (
  entries: JsonObject,
  place: McpPlace,
  hidden: readonly ProtectedFolder[],
): McpFile => new ServersReader(place).read(entries, hidden);

type ServerKind = McpTransport['kind'] | 'workspace';

/** The field that only servers of a kind have. */
const MARKS: Readonly<Record<ServerKind, string>> = {
  stdio: 'command',
  http: 'url',
  workspace: 'workspace',
};

/** The names that other programs use for the transport. */
const TYPES: Readonly<Record<string, ServerKind>> = {
  workspace: 'workspace',
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
};

const TEXT_BY_NAME = z.record(z.string(), z.string());
const SECONDS = z.number().min(1).max(MAX_SECONDS);
const IN_SECONDS = `a number from 1 to ${MAX_SECONDS}`;

/** The fields of a server, for all kinds and for each. The JSON schema of the config file has them too. */
export const MCP_FIELDS = {
  all: {
    type: z.enum(Object.keys(TYPES)),
    disabled: z.boolean(),
    tool_timeout_sec: SECONDS,
    require_approval: z.enum(['always', 'never']),
  },
  stdio: {
    startup_timeout_sec: SECONDS,
    command: z.string().min(1),
    args: z.array(z.string()),
    env: TEXT_BY_NAME,
    cwd: z.string(),
  },
  http: { startup_timeout_sec: SECONDS, url: z.string(), headers: TEXT_BY_NAME },
  workspace: WORKSPACE_FIELDS,
} as const;

const { all: ALL, stdio: STDIO, http: HTTP } = MCP_FIELDS;

class ServersReader {
  readonly #reader: EntryReader;
  readonly #servers: McpServer[] = [];
  readonly #workspaces: Workspace[] = [];

  constructor(from: McpPlace) {
    this.#reader = new EntryReader(from);
  }

  read(entries: JsonObject, hidden: readonly ProtectedFolder[]): McpFile {
    const reader = this.#reader;
    const forms = new Map<string, string>();
    for (const [label, entry] of Object.entries(entries)) {
      reader.label = label;
      const other = forms.get(mcpLabelForm(label));
      forms.set(mcpLabelForm(label), label);
      if (!isMcpLabel(label)) {
        reader.problem('', 'the name of a server has 1 to 64 letters, digits, `_` and `-`');
      } else if (other !== undefined) {
        reader.problem('', `the name is too similar to \`${other}\`: for a model \`-\` becomes \`_\``);
      } else if (isJsonObject(entry)) this.#entry(entry);
      else reader.problem('', 'must be an object');
    }
    if (this.#servers.length + this.#workspaces.length > MAX_SERVERS)
      reader.problems.push(reader.line(`names more than ${MAX_SERVERS} servers`));
    checkPlaces(this.#workspaces, [...hidden, folderOfConfiguration(reader.from.file)], reader);
    const { problems, warnings } = reader;
    return { servers: this.#servers, workspaces: this.#workspaces, problems, warnings };
  }

  #entry(entry: JsonObject): void {
    const kind = this.#kind(entry);
    if (kind === null) return;
    const reader = this.#reader;
    const known = new Set(Object.keys({ ...ALL, ...MCP_FIELDS[kind] }));
    for (const field of Object.keys(entry)) {
      if (!known.has(field)) reader.warning(field, 'is unknown and has no effect');
    }
    // A disabled server may be incomplete.
    if (reader.given(entry, 'disabled', ALL.disabled, 'true or false') === true) return;
    const callSeconds = reader.given(entry, 'tool_timeout_sec', ALL.tool_timeout_sec, IN_SECONDS);
    const requireApproval =
      reader.given(entry, 'require_approval', ALL.require_approval, '`always` or `never`') ?? 'always';
    if (kind === 'workspace') {
      const workspace = readWorkspace(entry, reader, { callSeconds, requireApproval });
      if (workspace !== null) this.#workspaces.push(workspace);
      return;
    }
    this.#servers.push({
      label: reader.label,
      transport: kind === 'stdio' ? this.#stdio(entry) : this.#http(entry),
      startupSeconds: reader.given(entry, 'startup_timeout_sec', SECONDS, IN_SECONDS) ?? MCP_STARTUP_SECONDS,
      callSeconds: callSeconds ?? MCP_CALL_SECONDS,
      requireApproval,
    });
  }

  #kind(entry: JsonObject): ServerKind | null {
    const { type } = entry;
    const said = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
    const kinds = (Object.keys(MARKS) as ServerKind[]).filter((kind) => entry[MARKS[kind]] !== undefined);
    const [kind] = kinds;
    if (type === 'sse') {
      this.#reader.problem('type', 'is `sse`, the transport before streamable HTTP, which is not served');
    } else if (type !== undefined && said === undefined) {
      this.#reader.problem('type', 'must be stdio, http or workspace');
    } else if (kind === undefined || kinds.length > 1) {
      this.#reader.problem('', 'must have one of `command`, `url` and `workspace`');
    } else {
      if (said === undefined || said === kind) return kind;
      this.#reader.problem('type', `is not that of a server with \`${MARKS[kind]}\``);
    }
    return null;
  }

  #stdio(entry: JsonObject): McpTransport {
    const reader = this.#reader;
    const env = reader.given(entry, 'env', STDIO.env, 'an object of strings') ?? {};
    const cwd = reader.given(entry, 'cwd', STDIO.cwd, 'a string');
    return {
      kind: 'stdio',
      command: reader.expand(
        'command',
        reader.given(entry, 'command', STDIO.command, 'a non-empty string') ?? '',
      ),
      args: (reader.given(entry, 'args', STDIO.args, 'an array of strings') ?? []).map((text, index) =>
        reader.expand(`args[${index}]`, text),
      ),
      env: reader.expandAll('env', env),
      cwd: cwd === undefined ? null : path.resolve(path.dirname(reader.from.file), reader.expand('cwd', cwd)),
    };
  }

  #http(entry: JsonObject): McpTransport {
    const reader = this.#reader;
    const url = reader.expand('url', reader.given(entry, 'url', HTTP.url, 'a string') ?? '');
    const headers = reader.expandAll(
      'headers',
      reader.given(entry, 'headers', HTTP.headers, 'an object of strings') ?? {},
    );
    const wrong = mcpUrlProblem(url);
    if (wrong !== null) reader.problem('url', wrong);
    for (const [name, value] of Object.entries(headers)) {
      const problem = mcpHeaderProblem(name, value);
      if (problem !== null) reader.problem(`headers.${name}`, problem);
    }
    return { kind: 'http', url, headers };
  }
}
