import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { expect, it } from 'vitest';

import type { AppServer } from '../../../codex/app-server.ts';
import { RequestTimeout, RpcError } from '../../../codex/rpc/errors.ts';
import { endThread, killLeftovers, processTime } from './clean-up.ts';

const THREAD = { threadId: 'thread', turnId: 'turn' };

/** An app-server whose commands are `running` until they were ended so often. */
const appServerWith = (answers: Readonly<Record<string, () => unknown>>) => {
  const asked: string[] = [];
  const appServer = {
    request: async (method: string) => {
      asked.push(method);
      return answers[method]?.() ?? { data: [] };
    },
    watchThread: () => () => {},
  } as unknown as AppServer;
  return { appServer, asked };
};

it('ends the turn and its commands before it closes the thread', async () => {
  let running = 2;
  const { appServer, asked } = appServerWith({
    'thread/backgroundTerminals/list': () => ({ data: running-- > 0 ? [{ processId: '1' }] : [] }),
  });
  expect(await endThread(appServer, THREAD)).toEqual({ isAnswered: true, hadCommands: true });
  const list = 'thread/backgroundTerminals/list';
  const look = ['thread/backgroundTerminals/clean', list];
  expect(asked).toEqual(['turn/interrupt', list, ...look, ...look, 'thread/unsubscribe']);
});

it('closes a thread whose turn is over, or that is gone', async () => {
  const refuse = (): never => {
    throw new RpcError({ code: -32_600, message: 'thread not found' });
  };
  const { appServer, asked } = appServerWith({
    'turn/interrupt': refuse,
    'thread/backgroundTerminals/clean': refuse,
    'thread/backgroundTerminals/list': refuse,
    'thread/unsubscribe': refuse,
  });
  const end = { isAnswered: true, hadCommands: false };
  expect(await endThread(appServer, { ...THREAD, turnId: null })).toEqual(end);
  expect(await endThread(appServer, THREAD)).toEqual(end);
  expect(asked.at(-1)).toBe('thread/unsubscribe');
});

it('goes on if a command does not end: the look kills it', async () => {
  const { appServer, asked } = appServerWith({
    'thread/backgroundTerminals/list': () => ({ data: [{ processId: '1' }] }),
  });
  expect([await endThread(appServer, THREAD, 200), asked.at(-1)]).toEqual([
    { isAnswered: true, hadCommands: true },
    'thread/unsubscribe',
  ]);
});

it('reports an app-server that does not answer', async () => {
  const { appServer } = appServerWith({
    'thread/backgroundTerminals/clean': () => {
      throw new RequestTimeout('thread/backgroundTerminals/clean', 5_000);
    },
  });
  expect(await endThread(appServer, THREAD)).toEqual({ isAnswered: false, hadCommands: false });
});

const NEEDS_LINUX = { meta: { needs: 'processes in /proc: Linux' } };
const isLinux = process.platform === 'linux';

it.skipIf(!isLinux)('kills processes that name the folder, and no others', NEEDS_LINUX, async () => {
  const since = await processTime();
  const start = (name: string, where: 'argument' | 'variable') =>
    spawn('sh', ['-c', 'read line', ...(where === 'argument' ? [name] : [])], {
      env: { PATH: process.env['PATH'], ...(where === 'variable' ? { HOME: `/state/run/${name}` } : {}) },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  const ours = [start('agent-00000000000000aa', 'argument'), start('agent-00000000000000aa', 'variable')];
  const other = start('agent-00000000000000bb', 'variable');
  const ends = Promise.all(ours.map(async (one) => once(one, 'exit')));
  // A process has its environment when it has started its program.
  await Promise.all([...ours, other].map((one) => once(one, 'spawn')));
  expect(await killLeftovers('agent-00000000000000aa', { since, looksMs: [0, 50] })).toBeGreaterThanOrEqual(
    2,
  );
  expect(await ends).toEqual([
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
  const gone = once(other, 'exit');
  // Older than the run.
  expect(
    await killLeftovers('agent-00000000000000bb', { since: Number.MAX_SAFE_INTEGER, looksMs: [0] }),
  ).toBe(0);
  expect(await killLeftovers('agent-00000000000000bb', { since: null, looksMs: [0] })).toBeGreaterThanOrEqual(
    1,
  );
  await gone;
});
