import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment, everyday } from '../../config/setting-row.ts';
import { filePath, yesOrNo } from '../../config/value.ts';

export const MCP_TABLES = {
  settings: {
    PROXY_MCP_CONFIG: everyday({
      at: 'mcp.configFile',
      after: 'PROXY_ENABLE_FEEDBACK',
      type: filePath,
      description:
        'A JSON file with the MCP servers that requests may use, in the usual `mcpServers` form; see [MCP servers](mcp.md). The config file can list them itself, under `mcpServers`.',
    }),
    PROXY_MCP_CLIENT_SERVERS: deployment({
      at: 'mcp.clientServers',
      type: yesOrNo,
      default: 'false',
      description: 'Whether a request may name an MCP server by URL. This server then connects to that URL.',
    }),
    PROXY_MCP_CLIENT_PRIVATE: deployment({
      at: 'mcp.clientPrivate',
      type: yesOrNo,
      default: 'false',
      description: 'Whether such a URL may lead to a private, loopback or link-local address.',
    }),
  },
  routes: {
    'GET /v1/mcp/tools': {
      after: 'GET /v1/models/:id{.+}',
      access: 'key',
      scopes: ['infer', 'read'],
      about:
        'The MCP servers of this deployment and the workspaces of the key, with their tools, up to a minute old; one that does not work is listed with its `error`. See [MCP servers](mcp.md).',
    },
    'GET /v1/codex/mcp': {
      after: 'GET /v1/codex/usage',
      access: 'key',
      scopes: ['read'],
      about:
        'A summary of these servers and workspaces: whether they work, and the names of their tools; of a workspace also `path`, `access`, `network` and `runs`.',
    },
  },
} as const satisfies FeatureTables;

/** The MCP servers that requests may use. */
export const mcp = feature('mcp', MCP_TABLES, {
  open: async (...args) => (await import('./open.ts')).openMcp(...args),
});
