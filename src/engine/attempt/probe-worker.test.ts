import { expect, it } from 'vitest';

import { GatewayError } from '../../canonical/failure/failure.ts';
import { RequestTimeout } from '../../codex/rpc/errors.ts';
import { probed } from './probe-worker.ts';

const failing = async (error: unknown, isNeeded: boolean): Promise<unknown> => {
  const spawn = async (): Promise<never> => {
    throw error;
  };
  try {
    return await probed({ isNeeded, spawn, workdir: '/', whyRejected: null })();
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
