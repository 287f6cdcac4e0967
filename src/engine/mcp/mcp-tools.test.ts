import { expect, it } from 'vitest';

import type { AppServer } from '../../codex/app-server.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import { listThreadTools, type ReachableMcp } from './mcp-tools.ts';

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
