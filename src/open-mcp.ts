import type { Dispatcher } from 'undici';

import { gatewayError } from './canonical/failure.ts';
import { mcpSecrets, type McpServer } from './canonical/mcp-server.ts';
import { openDispatcher } from './codex/relay/dispatcher.ts';
import { startMcpGate, type McpGate } from './codex/relay/mcp-gate.ts';
import { mcpServerConfig } from './codex/translate/mcp-config.ts';
import type { McpAccess, ReachableMcp } from './engine/mcp-access.ts';
import { unlessAborted } from './kit/abort.ts';

/** The MCP servers of the deployment, and the way to those that clients name. */
export interface OpenMcp extends McpAccess {
  close(): Promise<void>;
}

export interface OpenMcpOptions {
  readonly servers: readonly McpServer[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Something that reaches nothing but the host of this URL; null if a client may not send us there. Null
   * altogether: clients may not name servers.
   */
  readonly pinAgent: ((url: URL, signal: AbortSignal) => Promise<Dispatcher | null>) | null;
  readonly onBug: (error: unknown) => void;
}

/** The app-server gives up on a call by itself: only if it does not, the gate does. */
const MARGIN_MS = 10_000;
const NAME_TIMEOUT_MS = 10_000;

export const openMcp = async (options: OpenMcpOptions): Promise<OpenMcp> => {
  const { servers, pinAgent } = options;
  const urls = servers.flatMap(({ transport }) => (transport.kind === 'http' ? [transport.url] : []));
  if (urls.length === 0 && pinAgent === null) {
    return {
      deployment: byLabel(servers.map((server) => local(server))),
      reach: null,
      close: async () => {},
    };
  }
  const dispatcher = await openDispatcher(urls, options.environment);
  const gate = await startMcpGate({ onBug: options.onBug });
  return {
    deployment: byLabel(
      servers.map((server) =>
        server.transport.kind === 'stdio' ? local(server) : passing(server, gate, dispatcher),
      ),
    ),
    reach: pinAgent === null ? null : (server, signal) => reachNamed(server, signal, gate, pinAgent),
    async close() {
      await gate.close();
      await dispatcher.destroy();
    },
  };
};

const byLabel = (all: readonly ReachableMcp[]): ReadonlyMap<string, ReachableMcp> =>
  new Map(all.map((one) => [one.server.label, one]));

const local = (server: McpServer): ReachableMcp => ({
  server,
  config: mcpServerConfig(server, null),
  trouble: () => null,
  close() {},
});

const passing = (
  server: McpServer,
  gate: McpGate,
  dispatcher: Dispatcher,
  onGone: () => void = () => {},
): ReachableMcp => {
  const { transport, callSeconds } = server;
  if (transport.kind !== 'http') throw new Error('only HTTP passes through the gate');
  const passage = gate.open({
    url: transport.url,
    headers: transport.headers,
    secrets: mcpSecrets(server),
    dispatcher,
    silenceMs: callSeconds * 1000 + MARGIN_MS,
    onGone,
  });
  return {
    server,
    config: mcpServerConfig(server, passage.address),
    trouble: () => passage.trouble,
    close: () => passage.close(),
  };
};

const reachNamed = async (
  server: McpServer,
  signal: AbortSignal,
  gate: McpGate,
  pinAgent: NonNullable<OpenMcpOptions['pinAgent']>,
): Promise<ReachableMcp> => {
  if (server.transport.kind !== 'http') throw new Error('a client names servers by URL');
  const url = new URL(server.transport.url);
  const late = AbortSignal.timeout(NAME_TIMEOUT_MS);
  const agent = await unlessAborted(pinAgent(url, AbortSignal.any([signal, late])), signal).catch(() => {
    signal.throwIfAborted();
    throw gatewayError('mcp_server_unavailable', {
      message: `The name of the MCP server '${server.label}' could not be looked up.`,
    });
  });
  if (agent === null) {
    throw gatewayError('invalid_value', {
      message: `The URL of the MCP server '${server.label}' does not lead to a public address.`,
    });
  }
  try {
    return passing(server, gate, agent, () => void agent.destroy());
  } catch (error) {
    await agent.destroy();
    throw error;
  }
};
