import type { Dispatcher } from 'undici';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { mcpSecrets, type McpServer, type McpTransport } from '../../canonical/mcp/mcp-server.ts';
import { machineTrust } from '../../codex/home/machine-trust.ts';
import { openDispatcher } from '../../codex/relay/transport/dispatcher.ts';
import { startMcpRelay, type McpRelay } from '../../codex/relay/mcp/mcp-relay.ts';
import { httpServerConfig, stdioServerConfig } from '../../codex/translate/mcp-config.ts';
import type { McpAccess, ReachableMcp } from '../../engine/mcp/mcp-tools.ts';
import { unlessAborted } from '../../kit/async/wait.ts';

/** The configured MCP servers, and access to those named by clients. */
export interface OpenMcpServers extends McpAccess {
  close(): Promise<void>;
}

export interface OpenMcpServersOptions {
  readonly servers: readonly McpServer[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * An agent that connects only to the host of this URL; null if clients may not use it. The property is null if clients
   * may not name servers.
   */
  readonly pinAgent: ((url: URL, signal: AbortSignal) => Promise<Dispatcher | null>) | null;
  readonly onBug: (error: unknown) => void;
}

/** The app-server times out first; this is the fallback. */
const MARGIN_MS = 10_000;
const NAME_TIMEOUT_MS = 10_000;

export const openMcpServers = async (options: OpenMcpServersOptions): Promise<OpenMcpServers> => {
  const { servers, environment, pinAgent } = options;
  const trust = machineTrust(environment);
  const urls = servers.flatMap(({ transport }) => (transport.kind === 'http' ? [transport.url] : []));
  // No relay is needed.
  if (urls.length === 0 && pinAgent === null) {
    return {
      deployment: byLabel(servers.flatMap((server) => local(server, trust))),
      reach: null,
      close: async () => {},
    };
  }
  const dispatcher = await openDispatcher(urls, environment);
  const relay = await startMcpRelay({ onBug: options.onBug });
  const all = servers.flatMap((server) =>
    server.transport.kind === 'http'
      ? passing(server, server.transport, relay, dispatcher)
      : local(server, trust),
  );
  return {
    deployment: byLabel(all),
    reach: pinAgent === null ? null : (server, signal) => reachNamed(server, signal, relay, pinAgent),
    async close() {
      await relay.close();
      await dispatcher.destroy();
    },
  };
};

const byLabel = (all: readonly ReachableMcp[]): ReadonlyMap<string, ReachableMcp> =>
  new Map(all.map((one) => [one.server.label, one]));

const local = (server: McpServer, trust: Readonly<Record<string, string>>): readonly ReachableMcp[] =>
  server.transport.kind === 'stdio'
    ? [
        {
          server,
          config: stdioServerConfig(server, server.transport, trust),
          lastError: () => null,
          close() {},
        },
      ]
    : [];

type HttpTransport = Extract<McpTransport, { kind: 'http' }>;

const passing = (
  server: McpServer,
  { url, headers }: HttpTransport,
  relay: McpRelay,
  dispatcher: Dispatcher,
  onClosed: () => void = () => {},
): ReachableMcp => {
  const mcpRoute = relay.open({
    url,
    headers,
    secrets: mcpSecrets(server),
    dispatcher,
    idleMs: server.callSeconds * 1000 + MARGIN_MS,
    onClosed,
  });
  return {
    server,
    config: httpServerConfig(server, mcpRoute.address),
    lastError: () => mcpRoute.lastError,
    close: () => mcpRoute.close(),
  };
};

const reachNamed = async (
  server: McpServer,
  signal: AbortSignal,
  relay: McpRelay,
  pinAgent: NonNullable<OpenMcpServersOptions['pinAgent']>,
): Promise<ReachableMcp> => {
  const { label, transport } = server;
  if (transport.kind !== 'http') throw new Error('MCP servers named by URL');
  const late = AbortSignal.timeout(NAME_TIMEOUT_MS);
  const pinning = pinAgent(new URL(transport.url), AbortSignal.any([signal, late]));
  const agent = await unlessAborted(pinning, signal).catch(() => {
    signal.throwIfAborted();
    throw gatewayError('mcp_server_unavailable', {
      message: `The host name of the MCP server '${label}' could not be resolved.`,
    });
  });
  if (agent === null) {
    throw gatewayError('invalid_value', {
      message: `The URL of the MCP server '${label}' does not lead to a public address.`,
    });
  }
  try {
    return passing(server, transport, relay, agent, () => void agent.destroy());
  } catch (error) {
    await agent.destroy();
    throw error;
  }
};
