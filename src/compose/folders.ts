import path from 'node:path';

import { openWorkFolders, requirePrivateState } from '../codex/home/private-folders.ts';
import { DEFAULT_WORK_DIR } from '../config/backend-settings.ts';
import type { Config } from '../config/schema.ts';
import type { Logger } from '../observe/log.ts';

/** Creates private folders. MCP servers without a folder get one. */
export const placeFolders = async (config: Config, logger: Pick<Logger, 'warn'>): Promise<Config> => {
  await requirePrivateState(config.state.dir);
  const { workDir, mcpDir, instead } = await openWorkFolders({
    stateDir: config.state.dir,
    workDir: config.codex.workDir,
    isChosen: config.codex.workDir !== path.resolve(DEFAULT_WORK_DIR),
  });
  if (instead !== null) logger.warn({ workDir }, `the default working directory is not used: ${instead}`);
  return {
    ...config,
    codex: { ...config.codex, workDir },
    mcpServers: config.mcpServers.map((server) =>
      server.transport.kind === 'stdio'
        ? { ...server, transport: { ...server.transport, cwd: server.transport.cwd ?? mcpDir } }
        : server,
    ),
  };
};
