/** A server of MCP tools that the app-server runs or talks to for us. */
export interface McpServer {
  /** What requests call it; the model sees its tools below this name. */
  readonly label: string;
  readonly transport: McpTransport;
  /** How long its start may take, until it has said which tools it has. */
  readonly startupSeconds: number;
  /** How long one call of a tool may take. */
  readonly callSeconds: number;
  /** Whether a person must agree to its calls where a request does not say. */
  readonly requireApproval: 'always' | 'never';
}

export type McpTransport =
  /** A process of its own for every thread, which speaks by its standard input and output. */
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Null: the working directory that codex is told. */
      readonly cwd: string | null;
    }
  /** Streamable HTTP. */
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export const MCP_STARTUP_SECONDS = 30;
export const MCP_CALL_SECONDS = 120;

const LABEL = /^[a-zA-Z0-9_-]{1,64}$/;

export const isMcpLabel = (label: string): boolean => LABEL.test(label);

/** What codex makes of a label in the names that the model sees: two labels of one form cannot be told apart. */
export const mcpLabelForm = (label: string): string => label.replaceAll('-', '_');

/** Said by the connection, or by whoever speaks MCP over it. */
const RESERVED_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|transfer-encoding|te|trailer|upgrade|expect|content-(?:length|type|encoding)|accept(?:-encoding)?|mcp-.*|last-event-id)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Anything else ends the header, or has no form in it. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What is wrong with a header that is to be sent to a server, without its value; null: nothing. */
export const mcpHeaderProblem = (name: string, value: string): string | null => {
  if (!HEADER_NAME.test(name)) return 'is not the name of a header';
  if (RESERVED_HEADERS.test(name)) return 'is a header that cannot be set';
  return HEADER_VALUE.test(value) ? null : 'has a value that no header can carry';
};

/** What is wrong with the address of a server, without the address; null: nothing. */
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

/** What of a server must not get out: it may hold tokens. */
export const mcpSecrets = ({ transport }: McpServer): readonly string[] => {
  if (transport.kind === 'stdio') return Object.values(transport.env);
  const query = [...(URL.parse(transport.url)?.searchParams.values() ?? [])];
  // `Bearer TOKEN`: who repeats it may leave out the first word.
  return [
    ...Object.values(transport.headers).flatMap((value) => [value, ...value.split(' ').slice(1)]),
    ...query,
  ];
};
