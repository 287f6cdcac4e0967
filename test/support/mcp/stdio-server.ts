import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { isAlive } from '../is-alive.ts';

/** How the server behaves; passed on its command line. */
export interface StdioOptions {
  /** `dies`: at its start. `silent`: reads and never answers. */
  readonly mood?: 'well' | 'dies' | 'silent';
  readonly startDelayMs?: number;
  /** Each process appends its pid to this file when it starts. */
  readonly journal?: string;
}

/** The entry of `mcpServers` that starts this file. */
export const stdioEntry = (
  options: StdioOptions = {},
): { readonly command: string; readonly args: readonly string[] } => ({
  command: process.execPath,
  args: [import.meta.filename, JSON.stringify(options)],
});

/** Every process that was started with this journal. */
export const startedProcesses = (journal: string): readonly number[] =>
  existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').map(Number) : [];

/** Those of them that still run. */
export const livingProcesses = (journal: string): readonly number[] =>
  startedProcesses(journal).filter(isAlive);

const run = async ({ mood, startDelayMs = 0, journal }: StdioOptions): Promise<void> => {
  if (journal !== undefined) appendFileSync(journal, `${process.pid}\n`);
  if (mood === 'dies') {
    process.stderr.write('the test server has no reason to live\n');
    process.exit(3);
  }
  if (mood === 'silent') {
    process.stdin.resume();
    return;
  }
  await sleep(startDelayMs);
  // Imported late: a server that dies or is silent starts faster without it.
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const { createToolServer } = await import('./tools.ts');
  await createToolServer().connect(new StdioServerTransport());
};

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? '{}') as StdioOptions);
