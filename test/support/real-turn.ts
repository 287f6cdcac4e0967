import os from 'node:os';

import type { ThreadSignal } from '../../src/codex/app-server.ts';
import { isKnownNotification } from '../../src/codex/protocol/methods.ts';
import type { WorkerLease, WorkerPool } from '../../src/codex/worker/supervisor.ts';
export const THREAD = {
  model: 'gpt-5.5',
  cwd: os.tmpdir(),
  baseInstructions: '',
  environments: [],
  ephemeral: true,
  experimentalRawEvents: true,
  approvalPolicy: 'never',
  sandbox: 'read-only',
} as const;

/** One turn on a real app-server, in the order of its notifications. */
export const runTurn = async (
  { appServer }: WorkerLease,
  onStarted: (threadId: string) => void = () => {},
): Promise<readonly string[]> => {
  const { thread } = await appServer.request('thread/start', THREAD);
  onStarted(thread.id);
  const seen: string[] = [];
  const finished = new Promise<void>((resolve) => {
    const unwatch = appServer.watchThread(thread.id, (signal: ThreadSignal) => {
      if (signal.kind !== 'notification' || !isKnownNotification(signal)) return;
      seen.push(
        signal.method === 'item/agentMessage/delta' ? `delta: ${signal.params.delta}` : signal.method,
      );
      if (signal.method !== 'turn/completed') return;
      seen.push(signal.params.turn.status);
      const cause = signal.params.turn.error?.codexErrorInfo ?? null;
      if (cause !== null) seen.push(JSON.stringify(cause));
      unwatch();
      resolve();
    });
  });
  await appServer.request('thread/inject_items', {
    threadId: thread.id,
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  });
  await appServer.request('turn/start', { threadId: thread.id, input: [], summary: 'none' });
  await finished;
  return seen;
};
export const runOne = async (pool: WorkerPool): Promise<readonly string[]> => {
  const lease = await pool.lease(new AbortController().signal);
  try {
    return await runTurn(lease);
  } finally {
    lease.release();
  }
};
