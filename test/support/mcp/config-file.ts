import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll } from 'vitest';

/**
 * A directory for the files of one test file, and the value for PROXY_MCP_CONFIG: `mcpFiles().write({…})`.
 */
export const mcpFiles = (): {
  readonly directory: string;
  write(mcpServers: Readonly<Record<string, unknown>>): string;
} => {
  const directory = mkdtempSync(path.join(tmpdir(), 'mcp-test-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  let count = 0;
  return {
    directory,
    write(mcpServers) {
      count += 1;
      const file = path.join(directory, `mcp-${count}.json`);
      writeFileSync(file, JSON.stringify({ mcpServers }));
      return file;
    },
  };
};
