import { describe, expect, it } from 'vitest';

import { fakeRelay, fakeWorker } from '../../../../test/support/carriers.ts';
import { threadSettings } from '../../../../test/support/thread-settings.ts';
import { fixedAmbient } from '../../../../test/support/turn-events.ts';
import { turnRequest } from '../../../../test/support/turn-request.ts';
import type { McpTurn } from '../../mcp/mcp-turn.ts';
import { Carrier, freshThread } from './carrier.ts';
import { earlierCalls, mcpPlan, plainPlan, reviewPlan, threadStartOf } from './carrier-plans.ts';

const world = (different: Parameters<typeof threadSettings>[0] = {}) => {
  const relay = fakeRelay();
  const settings = threadSettings(different);
  const deps = { relay, settings, ...fixedAmbient(), continuing: { works: true, onStopped() {} } };
  return { worker: fakeWorker(), relay, deps };
};

const THREAD_START = {
  model: 'gpt-5.5',
  modelProvider: 'proxy',
  cwd: '/work',
  sandbox: 'read-only',
  approvalPolicy: 'never',
  baseInstructions: '',
  dynamicTools: [],
  environments: [],
  ephemeral: true,
  experimentalRawEvents: false,
};
const injected = (threadId: string, id: string) => ({
  threadId,
  items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '.' }], id }],
});
const turnStart = (threadId: string) => ({ threadId, input: [], summary: 'none' });
const expected = (different: object) => ({
  threadId: 'thread-1',
  slug: 'gpt-5.5',
  placeholder: 'px_minted1',
  isFirstOfThread: true,
  onLost: expect.any(Function) as unknown,
  ...different,
});

describe('a plain carrier', () => {
  it('has a placeholder in a thread with nothing of a client', async () => {
    const { worker, relay, deps } = world({
      sandboxMode: 'workspace-write',
      instructionsTarget: 'developer',
    });
    const carrier = await Carrier.start(plainPlan(worker.appServer, 'gpt-5.5', null, deps));
    expect(worker.calls).toEqual([
      ['thread/start', { ...THREAD_START, sandbox: 'workspace-write' }],
      ['thread/inject_items', injected('thread-1', 'px_minted1')],
      ['turn/start', turnStart('thread-1')],
    ]);
    expect(relay.turns.map((turn) => turn.expected)).toEqual([expected({})]);
    expect([carrier.placeholder, carrier.running]).toEqual([
      'px_minted1',
      { threadId: 'thread-1', turnId: 'turn-1' },
    ]);
  });

  it('has another placeholder in each turn of a thread', async () => {
    const { worker, relay, deps } = world();
    const { thread } = await Carrier.start(plainPlan(worker.appServer, 'gpt-5.5', null, deps));
    await Carrier.start(plainPlan(worker.appServer, 'gpt-5.5', thread, deps));
    expect(worker.calls.slice(3)).toEqual([
      ['thread/inject_items', injected('thread-1', 'px_minted2')],
      ['turn/start', turnStart('thread-1')],
    ]);
    expect(relay.turns[1]?.expected).toEqual(expected({ placeholder: 'px_minted2', isFirstOfThread: false }));
  });

  it('is described for captures as it was started', async () => {
    const { worker, deps } = world({ workdir: '/elsewhere' });
    const carrier = await Carrier.start(plainPlan(worker.appServer, 'gpt-5.5', null, deps));
    const earlier = earlierCalls(carrier, deps.settings);
    expect(earlier.map(({ method, params }) => [method, params])).toEqual(worker.calls);
    expect(earlier.map(({ result }) => result)).toEqual([
      { thread: { id: 'thread-1' } },
      {},
      { turn: { id: 'turn-1' } },
    ]);
    expect(threadStartOf(freshThread('thread-7', 'gpt-5.5'), threadSettings())).toEqual({
      method: 'thread/start',
      params: THREAD_START,
      result: { thread: { id: 'thread-7' } },
    });
  });
});

describe('a carrier with MCP servers', () => {
  const mcp = {
    config: { docs: { command: 'serve' } },
    startThread: (appServer: ReturnType<typeof fakeWorker>['appServer'], start: object) =>
      appServer.request('thread/start', { ...start, cwd: '/by-mcp' }),
  } as unknown as McpTurn;

  it('starts them with its thread, and is prepared before it has a placeholder', async () => {
    const { worker, relay, deps } = world();
    const prepared: unknown[] = [];
    const prepare = async (threadId: string) => void prepared.push([threadId, worker.calls.length]);
    await Carrier.start(mcpPlan(worker.appServer, 'gpt-5.5', { mcp, prepare }, deps));
    expect(worker.calls).toEqual([
      [
        'thread/start',
        { ...THREAD_START, config: { mcp_servers: { docs: { command: 'serve' } } }, cwd: '/by-mcp' },
      ],
      ['thread/inject_items', injected('thread-1', 'px_minted1')],
      ['turn/start', turnStart('thread-1')],
    ]);
    expect(prepared).toEqual([['thread-1', 1]]);
    expect(relay.turns.map((turn) => turn.expected)).toEqual([expected({})]);
  });

  it('is closed if they cannot be prepared', async () => {
    const { worker, deps } = world();
    const prepare = () => Promise.reject(new Error('no tools'));
    const starting = Carrier.start(mcpPlan(worker.appServer, 'gpt-5.5', { mcp, prepare }, deps));
    await expect(starting).rejects.toThrow('no tools');
    expect(worker.calls.map(([method]) => method)).toEqual(['thread/start', 'thread/unsubscribe']);
  });
});

describe('a carrier of a review', () => {
  const request = turnRequest({ isReview: true, instructions: 'Be strict.' });

  it('has no placeholder, because codex writes its input', async () => {
    const { worker, relay, deps } = world();
    const carrier = await Carrier.start(reviewPlan(worker.appServer, 'gpt-5.5', request, deps));
    expect(worker.calls).toEqual([
      ['thread/start', THREAD_START],
      ['review/start', { threadId: 'thread-1', target: { type: 'custom', instructions: 'hi' } }],
    ]);
    expect(relay.turns.map((turn) => turn.expected)).toEqual([expected({ placeholder: null })]);
    // Only the inner turn of a review can be interrupted, whose id is not known.
    expect([carrier.placeholder, carrier.turnId, carrier.running]).toEqual([
      null,
      'turn-1',
      { threadId: 'thread-1', turnId: '' },
    ]);
  });

  it('has the instructions in its thread if the deployment wants them there', async () => {
    const { worker, deps } = world({ instructionsTarget: 'developer' });
    await Carrier.start(reviewPlan(worker.appServer, 'gpt-5.5', request, deps));
    expect(worker.calls[0]).toEqual([
      'thread/start',
      { ...THREAD_START, developerInstructions: 'Be strict.' },
    ]);
  });
});
