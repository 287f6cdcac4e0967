import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { GatewayError } from '../../canonical/failure/failure.ts';
import { mcpSecrets, type McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { McpToolInfo, McpToolList } from '../../canonical/mcp/mcp-tools.ts';
import type { AppServer } from '../../codex/app-server.ts';
import { mcpErrorText, silentFor } from '../../codex/failures/mcp-error.ts';
import type { ResultOf } from '../../codex/protocol/methods.ts';
import { PROVIDER_ID } from '../../codex/protocol/provider.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import type { WorkerPool } from '../../codex/worker/supervisor.ts';
import { secretHider } from '../../kit/text/hide-secrets.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { rpcFailure } from '../attempt/app-server-turn.ts';

/** A server that threads can be started with. */
export interface ReachableMcp {
  readonly server: McpServer;
  /** Its entry in `config.mcp_servers` of `thread/start`, without secrets over HTTP. */
  readonly config: JsonObject;
  /** The error of the last message to it, as the end of a sentence about it; null: not known. */
  lastError(): string | null;
  /** For a server that a client named: the turn has ended. */
  close(): void;
}

/** The MCP servers, and how threads reach them. */
export interface McpAccess {
  /** The servers of the deployment, by label. */
  readonly deployment: ReadonlyMap<string, ReachableMcp>;
  /**
   * A server with HTTP transport that a client named, for one turn. Rejects with a GatewayError if its address may
   * not be reached. Null: clients may not name servers here.
   */
  readonly reach: ((server: McpServer, signal: AbortSignal) => Promise<ReachableMcp>) | null;
}

export const NO_MCP: McpAccess = { deployment: new Map(), reach: null };

type Status = ResultOf<'mcpServerStatus/list'>['data'][number];

/** The app-server has a timeout of its own; this one is for the case that it does not keep it. */
const MARGIN_MS = 5_000;

/**
 * Lists the tools of a server that the thread was started with, through the thread's own connection. Waits for the
 * server's start; a slow or dead server is reported, not thrown. Closing the thread ends the wait.
 */
export const listThreadTools = async (
  appServer: AppServer,
  threadId: string,
  reachable: ReachableMcp,
  maxMs = Infinity,
): Promise<McpToolList> => {
  const { server } = reachable;
  const timeoutMs = Math.min(server.startupSeconds * 1000 + MARGIN_MS, maxMs);
  // The relay's error is more precise than the app-server's. Either may quote the server's token.
  const failed = (error: string): McpToolList => ({
    status: 'failed',
    lastError: secretHider(mcpSecrets(server))(reachable.lastError() ?? error),
  });
  try {
    const { data } = await appServer.request(
      'mcpServerStatus/list',
      { threadId, serverName: server.label, detail: 'toolsAndAuthOnly' },
      { timeoutMs },
    );
    const status = data.find(({ name }) => name === server.label);
    if (status?.runtimeStatus === 'connected' && status.toolsError === null) return connected(status);
    return failed(
      status?.toolsError == null
        ? `is not connected (${status?.runtimeStatus ?? 'unknown'})`
        : mcpErrorText(status.toolsError),
    );
  } catch (error) {
    if (error instanceof RequestTimeout) return failed(silentFor(timeoutMs));
    if (error instanceof RpcError) return failed(mcpErrorText(error.message));
    throw error;
  }
};

const connected = ({ tools }: Status): McpToolList => ({
  status: 'connected',
  // The app-server lists them in no fixed order.
  tools: Object.values(tools)
    .flatMap((tool): McpToolInfo[] =>
      tool === undefined
        ? []
        : [
            {
              name: tool.name,
              title: tool.title ?? null,
              description: tool.description ?? null,
              inputSchema: tool.inputSchema,
              outputSchema: tool.outputSchema ?? null,
              annotations: tool.annotations ?? null,
            },
          ],
    )
    .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
});

/** A tool in an `mcp_list_tools` item. Absent fields are left out: some clients reject null there. */
const toListedTool = (tool: McpToolInfo): JsonObject => ({
  name: tool.name,
  ...(tool.title === null ? {} : { title: tool.title }),
  ...(tool.description === null ? {} : { description: tool.description }),
  input_schema: tool.inputSchema,
  ...(tool.outputSchema === null ? {} : { output_schema: tool.outputSchema }),
  ...(tool.annotations === null ? {} : { annotations: tool.annotations }),
});

/** The item that lists the tools of a server, before the model's output. */
export const listedToolsEvents = (
  id: string,
  label: string,
  tools: readonly McpToolInfo[],
): readonly TurnEvent[] => {
  const raw = { type: 'mcp_list_tools', server_label: label };
  return [
    { type: 'item-started', item: { kind: 'opaque', id, raw: { ...raw, tools: [] } } },
    { type: 'item-status', itemId: id, status: 'in_progress' },
    { type: 'item-status', itemId: id, status: 'completed' },
    { type: 'item-ended', item: { kind: 'opaque', id, raw: { ...raw, tools: tools.map(toListedTool) } } },
  ];
};

export interface ListedMcp {
  readonly server: McpServer;
  readonly list: McpToolList;
}

export interface ListMcpOptions {
  readonly workers: WorkerPool;
  readonly workdir: string;
  /** The longest wait for a server. */
  readonly maxMs: number;
}

/** Lists the tools of all these servers, in a thread of its own. */
export const listMcpTools = async (
  servers: readonly ReachableMcp[],
  { workers, workdir, maxMs }: ListMcpOptions,
): Promise<readonly ListedMcp[]> => {
  if (servers.length === 0) return [];
  const lease = await workers.lease(new AbortController().signal);
  const { appServer } = lease;
  let threadId: string | null = null;
  try {
    const { thread } = await appServer.request('thread/start', {
      modelProvider: PROVIDER_ID,
      cwd: workdir,
      baseInstructions: '',
      dynamicTools: [],
      environments: [],
      ephemeral: true,
      config: {
        mcp_servers: Object.fromEntries(servers.map(({ server, config }) => [server.label, config])),
      },
    });
    threadId = thread.id;
    return await Promise.all(
      servers.map(async (one) => ({
        server: one.server,
        list: await listThreadTools(appServer, thread.id, one, maxMs),
      })),
    );
  } catch (error) {
    throw new GatewayError(rpcFailure(error), { cause: error });
  } finally {
    // Ends the processes of the servers, too.
    if (threadId !== null) await appServer.request('thread/unsubscribe', { threadId }).catch(() => {});
    lease.release();
  }
};
