/** An MCP server that the app-server starts or connects to. */
export interface McpServer {
  /** Its name in requests, and the namespace of its tools. */
  readonly label: string;
  readonly transport: McpTransport;
  /** Time limit for its start, including listing its tools. */
  readonly startupSeconds: number;
  /** Time limit for one tool call. */
  readonly callSeconds: number;
  /** Whether calls need approval if the request does not say. */
  readonly requireApproval: 'always' | 'never';
}

export type McpTransport =
  /** One process per thread, over standard input and output. */
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Null: codex's working directory. */
      readonly cwd: string | null;
    }
  /** Streamable HTTP. */
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export const MCP_STARTUP_SECONDS = 30;
export const MCP_CALL_SECONDS = 120;

const LABEL = /^[a-zA-Z0-9_-]{1,64}$/;

export const isMcpLabel = (label: string): boolean => LABEL.test(label);

/** codex's form of a label in tool names. Labels with the same form cannot be distinguished. */
export const mcpLabelForm = (label: string): string => label.replaceAll('-', '_');

/** Headers set by the HTTP connection or by the MCP client. */
const RESERVED_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|transfer-encoding|te|trailer|upgrade|expect|content-(?:length|type|encoding)|accept(?:-encoding)?|mcp-.*|last-event-id)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Other characters are invalid in header values. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Describes what is wrong with a header, without its value; null if it is valid. */
export const mcpHeaderProblem = (name: string, value: string): string | null => {
  if (!HEADER_NAME.test(name)) return 'is not the name of a header';
  if (RESERVED_HEADERS.test(name)) return 'is a header that cannot be set';
  return HEADER_VALUE.test(value) ? null : 'has a value that no header can carry';
};

/** Describes what is wrong with a server URL, without the URL; null if it is valid. */
export const mcpUrlProblem = (text: string): string | null => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return 'is not an http or https URL';
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a user name or a password: send them in a header';
  }
  return null;
};

/** Values of the configuration that may contain secrets and must be redacted. */
export const mcpSecrets = ({ transport }: McpServer): readonly string[] => {
  if (transport.kind === 'stdio') return Object.values(transport.env);
  const query = [...(URL.parse(transport.url)?.searchParams.values() ?? [])];
  // `Bearer TOKEN`: the token may also appear alone.
  return [
    ...Object.values(transport.headers).flatMap((value) => [value, ...value.split(' ').slice(1)]),
    ...query,
  ];
};
