import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, afterEach, beforeEach, expect, it } from 'vitest';

import type { McpServer, McpTransport } from '../canonical/mcp/mcp-server.ts';
import { loadConfig } from './features.ts';
import { placeFolders } from './core.ts';

describe('placeFolders', () => {
  let state = '';
  beforeEach(async () => {
    state = await mkdtemp(path.join(tmpdir(), 'place-folders-'));
  });
  afterEach(() => rm(state, { recursive: true, force: true }));

  const server = (label: string, transport: McpTransport): McpServer => ({
    label,
    transport,
    startupSeconds: 1,
    callSeconds: 1,
    requireApproval: 'always',
  });

  it('starts MCP servers without a folder in a private one, not in codex’s', async () => {
    const started = { kind: 'stdio', command: 'run', args: [], env: {}, cwd: null } as const;
    const http = server('http', { kind: 'http', url: 'http://127.0.0.1:9', headers: {} });
    const config = loadConfig({ PROXY_STATE_DIR: state, PROXY_CODEX_WORKDIR: path.join(state, 'mine') });
    const warned: unknown[] = [];
    const placed = await placeFolders(
      {
        ...config,
        mcpServers: [server('none', started), server('named', { ...started, cwd: '/named' }), http],
      },
      { warn: (...words: unknown[]) => void warned.push(words) },
    );
    expect([placed.codex.workDir, placed.mcpServers, warned]).toEqual([
      path.join(state, 'mine'),
      [
        server('none', { ...started, cwd: path.join(state, 'mcp') }),
        server('named', { ...started, cwd: '/named' }),
        http,
      ],
      [],
    ]);
  });
});
