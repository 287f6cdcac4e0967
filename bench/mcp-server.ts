import { fork } from 'node:child_process';
import { once } from 'node:events';

import { startHttpMcp } from '../test/support/mcp/http-server.ts';

export interface BenchMcp {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts an MCP server of the official SDK over HTTP in its own process. */
export const startBenchMcp = async (): Promise<BenchMcp> => {
  const child = fork(import.meta.filename);
  const [url]: unknown[] = await once(child, 'message');
  return {
    url: String(url),
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
};

if (import.meta.main) {
  process.on('disconnect', () => process.exit(0));
  const { url } = await startHttpMcp();
  process.send?.(url);
}
