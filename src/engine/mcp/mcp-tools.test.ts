import { expect, it } from 'vitest';

import type { AppServer } from '../../codex/app-server.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { McpToolList } from '../../canonical/mcp/mcp-tools.ts';
import { listThreadTools, createMcpDirectory, type ReachableMcp } from './mcp-tools.ts';

const reachable = (lastError: string | null = null): ReachableMcp => ({
  server: {
    label: 'a',
    transport: { kind: 'http', url: 'http://h/mcp', headers: { authorization: 'Bearer let-me-in' } },
    startupSeconds: 7,
    callSeconds: 1,
    requireApproval: 'always',
  },
  config: {},
  lastError: () => lastError,
  close() {},
});

/** One that gives this to whatever it is asked, or throws it. */
const answering = (answer: unknown): { readonly appServer: AppServer; readonly asked: unknown[] } => {
  const asked: unknown[] = [];
  const request = async (...question: readonly unknown[]): Promise<never> => {
    asked.push(question);
    if (answer instanceof Error) throw answer;
    return answer as never;
  };
  return { appServer: { request, watchThread: () => () => {} }, asked };
};

const listing = (answer: unknown, lastError: string | null = null) =>
  listThreadTools(answering(answer).appServer, 'thread', reachable(lastError));

const status = (more: object): unknown => ({ data: [{ name: 'a', tools: {}, toolsError: null, ...more }] });

it('asks the thread for one server, and waits slightly longer than its start timeout', async () => {
  const { appServer, asked } = answering(
    status({ runtimeStatus: 'connected', tools: { x: { name: 'x', inputSchema: {} } } }),
  );
  expect(await listThreadTools(appServer, 'thread', reachable())).toEqual({
    status: 'connected',
    tools: [
      {
        name: 'x',
        title: null,
        description: null,
        inputSchema: {},
        outputSchema: null,
        annotations: null,
      },
    ],
  });
  await listThreadTools(appServer, 'thread', reachable(), 3_000);
  const question = { threadId: 'thread', serverName: 'a', detail: 'toolsAndAuthOnly' };
  expect(asked).toEqual([
    ['mcpServerStatus/list', question, { timeoutMs: 12_000 }],
    ['mcpServerStatus/list', question, { timeoutMs: 3_000 }],
  ]);
});

it('sorts tools by name: the app-server has no order', async () => {
  const tools = Object.fromEntries(['b', 'c', 'a'].map((name) => [name, { name, inputSchema: {} }]));
  expect(await listing(status({ runtimeStatus: 'connected', tools }))).toMatchObject({
    tools: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  });
});

it.each([
  ['no such server', { data: [] }, null, 'is not connected (unknown)'],
  ['a closed thread', status({ runtimeStatus: 'cancelled' }), null, 'is not connected (cancelled)'],
  ['no list', status({ runtimeStatus: 'connected', toolsError: 'no tools' }), null, 'failed: no tools'],
  ['what the relay knows', status({ runtimeStatus: 'failed', toolsError: 'x' }), 'was down', 'was down'],
  ['no answer', new RequestTimeout('m', 1), null, 'did not answer within 12 s'],
  ['no secret', status({ runtimeStatus: 'failed', toolsError: 'no: let-me-in' }), null, 'failed: no: ***'],
  ['a refusal', new RpcError({ code: 1, message: 'thread not found' }), null, 'failed: thread not found'],
])('reports %s', async (_, answer, lastError, said) => {
  expect(await listing(answer, lastError)).toEqual({ status: 'failed', lastError: said });
});

it('throws errors that are not about the server', async () => {
  await expect(listing(new Error('lost'))).rejects.toThrow('lost');
});

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
  const directory = createMcpDirectory(
    async () => {
      looks += 1;
      return [{ server, list }];
    },
    { now: () => now },
  );
  const at = async (time: number): Promise<unknown> => {
    now = time;
    return [(await directory.list())[0]?.list.status, looks];
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
  const directory = createMcpDirectory(
    async () => {
      looks += 1;
      if (looks === 1) throw new Error('no worker');
      return [];
    },
    { now: () => 0 },
  );
  await expect(directory.list()).rejects.toThrow('no worker');
  expect(await directory.list()).toEqual([]);
});
