import { expect, it } from 'vitest';

import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import type { Worker } from '../../codex/worker/worker.ts';
import { probed } from './probe-worker.ts';

const failing = async (error: unknown, isLogin: boolean): Promise<unknown> => {
  const spawn = async (): Promise<never> => {
    throw error;
  };
  try {
    return await probed({ isLogin, spawn, workdir: '/', whyRejected: null })();
  } catch (thrown) {
    return thrown;
  }
};

const late = new Error('codex app-server did not start', {
  cause: new RequestTimeout('initialize', 20_000),
});
const broken = new Error('codex app-server did not start');

it('reports a login whose service does not answer codex, so that the start is tried again', async () => {
  const thrown = await failing(late, true);
  expect(thrown instanceof GatewayError ? thrown.failure.kind : thrown).toBe('account_unavailable');
});

it('passes on errors that are not about an account', async () => {
  expect([await failing(broken, true), await failing(late, false)]).toEqual([broken, late]);
});

it.each(['personalAccessToken', null])(
  'stops a worker that does not use its access token: %j',
  async (authMethod) => {
    let stopped = 0;
    const asked: string[] = [];
    const worker = {
      appServer: {
        request: async (method: string) => {
          asked.push(method);
          return { authMethod, thread: { id: 't' } };
        },
      },
      stop: async () => void (stopped += 1),
    } as unknown as Worker;
    const rejected = failure('sign_in_required');
    const whyRejected = async () => rejected;
    const spawned = await probed({
      isLogin: true,
      spawn: async () => worker,
      workdir: '/',
      whyRejected,
    })().catch((error: unknown) => (error instanceof GatewayError ? error.failure : error));
    expect([spawned, stopped, asked]).toEqual(
      authMethod === null
        ? [rejected, 1, ['getAuthStatus']]
        : [worker, 0, ['getAuthStatus', 'thread/start', 'thread/unsubscribe']],
    );
  },
);

const LOAD = 'failed to load configuration: config.toml:2:19: wanted string or table';

it.each([
  ['cannot load our configuration', new RpcError({ code: -32_600, message: LOAD }), 'codex_incompatible'],
  ['does not know our parameters', new RpcError({ code: -32_602, message: 'cwd' }), 'codex_incompatible'],
  ['has an error inside', new RpcError({ code: -32_603, message: 'panicked' }), 'RpcError'],
  ['does not answer', new RequestTimeout('thread/start', 20_000), 'RequestTimeout'],
])('stops a worker without a login that %s', async (_, rejection, expected) => {
  let stopped = 0;
  const worker = {
    appServer: { request: () => Promise.reject(rejection) },
    stop: async () => void (stopped += 1),
  } as unknown as Worker;
  const spawn = async (): Promise<Worker> => worker;
  const thrown = await probed({ isLogin: false, spawn, workdir: '/', whyRejected: null })().catch(
    (error: unknown) => (error instanceof GatewayError ? error.failure.kind : (error as Error).name),
  );
  expect([thrown, stopped]).toEqual([expected, 1]);
});
