import { describe, expect, it } from 'vitest';

import { gatewayError, failure } from '../../canonical/failure/failure.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import { rpcFailure } from './app-server-turn.ts';

describe('rpcFailure', () => {
  it.each([
    [
      'a failure of ours',
      gatewayError('model_not_found', { param: 'model' }),
      failure('model_not_found', { param: 'model' }),
    ],
    ['a lost connection', new ConnectionClosed(), failure('worker_lost')],
    [
      'a refused request, in the words of the app-server without our paths',
      new RpcError({ code: -32_600, message: 'items[0]: bad image /tmp/state/x.png' }),
      failure('invalid_prompt', { message: 'items[0]: bad image …' }),
    ],
    [
      'parameters that the app-server refuses, in its words',
      new RpcError({ code: -32_602, message: 'effort must not be empty' }),
      failure('invalid_prompt', { message: 'effort must not be empty' }),
    ],
    [
      'an account whose workspace could not be asked for its rules',
      new RpcError({
        code: -32_600,
        message: 'failed to load configuration: Failed to load cloud config bundle',
        data: { reason: 'cloudConfigBundle', errorCode: 'RequestFailed' },
      }),
      failure('account_unavailable'),
    ],
    [
      'an app-server that may open no more files',
      new RpcError({
        code: -32_600,
        message: 'failed to load configuration: Too many open files (os error 24)',
      }),
      failure('out_of_resources', { retryAfterSeconds: 1 }),
    ],
    [
      'an app-server with too much to do',
      new RpcError({ code: -32_001, message: 'overloaded' }),
      failure('worker_unavailable', { retryAfterSeconds: 1 }),
    ],
    [
      'an error inside the app-server, whose words are not for clients',
      new RpcError({ code: -32_603, message: 'panicked at /root/codex/src/main.rs' }),
      failure('server_error'),
    ],
    [
      'a thread of a backend that its configuration does not name any more',
      new RpcError({
        code: -32_600,
        message: 'This chat uses proxy, but your current provider is openai. Switch to proxy to continue.',
        data: {
          type: 'modelProviderMismatch',
          modelProvider: 'proxy',
          currentModelProvider: 'openai',
        },
      }),
      failure('worker_lost'),
    ],
    [
      'a backend that its configuration does not name',
      new RpcError({
        code: -32_600,
        message: 'failed to load configuration: Model provider `proxy` not found',
      }),
      failure('worker_lost'),
    ],
    [
      'a configuration that it cannot load',
      new RpcError({
        code: -32_600,
        message: 'failed to load configuration: /tmp/home/config.toml:2:19: wanted string or table',
      }),
      failure('codex_incompatible', {
        message:
          'The codex of this server cannot load the configuration that this server writes. Its operator has to run the command `doctor`, and to install another version of codex.',
      }),
    ],
    [
      'no answer in time',
      new RequestTimeout('turn/start', 1000),
      failure('worker_unavailable', {
        message: 'The app-server did not answer in time.',
        retryAfterSeconds: 1,
      }),
    ],
    ['anything else', new TypeError('x is undefined'), failure('server_error')],
    ['not even an error', 'oops', failure('server_error')],
  ])('%s', (_, error, expected) => {
    expect(rpcFailure(error)).toEqual(expected);
  });
});
