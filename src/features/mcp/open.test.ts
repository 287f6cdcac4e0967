import { expect, it } from 'vitest';

import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { McpToolList } from '../../canonical/mcp/mcp-tools.ts';
import { keepTools } from './open.ts';

const server: McpServer = {
  label: 'a',
  transport: { kind: 'http', url: 'http://h/mcp', headers: {} },
  startupSeconds: 1,
  callSeconds: 1,
  requireApproval: 'always',
};
const LISTS: Readonly<Record<'well' | 'ill', McpToolList>> = {
  well: { status: 'connected', tools: [] },
  ill: { status: 'failed', lastError: 'ended before it answered' },
};

it('lists once for concurrent callers, and keeps a good list for a minute and a failed one for seconds', async () => {
  let now = 0;
  let looks = 0;
  let list = LISTS.well;
  const listed = keepTools(
    async () => {
      looks += 1;
      return [{ server, list }];
    },
    { now: () => now },
  );
  const at = async (time: number): Promise<unknown> => {
    now = time;
    return [(await listed())[0]?.list.status, looks];
  };
  expect(await Promise.all([at(0), at(0)])).toEqual([
    ['connected', 1],
    ['connected', 1],
  ]);
  expect(await at(59_999)).toEqual(['connected', 1]);
  list = LISTS.ill;
  expect(await at(60_000)).toEqual(['failed', 2]);
  expect(await at(64_999)).toEqual(['failed', 2]);
  list = LISTS.well;
  expect(await at(65_000)).toEqual(['connected', 3]);
});

it('keeps no error', async () => {
  let looks = 0;
  const list = keepTools(
    async () => {
      looks += 1;
      if (looks === 1) throw new Error('no worker');
      return [];
    },
    { now: () => 0 },
  );
  await expect(list()).rejects.toThrow('no worker');
  expect(await list()).toEqual([]);
});
