import { describe, expect, it } from 'vitest';

import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import { startFailure } from './start-failure.ts';

const withCode = (code: string): Error => Object.assign(new Error(`${code}: it failed`), { code });
const didNotStart = (said: string, cause?: Error): Error =>
  new Error(`codex app-server did not start; it said: ${said}`, { cause });

const FULL = failure('worker_unavailable', {
  message:
    'The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
});
const NO_ROOM = failure('out_of_resources', { retryAfterSeconds: 1 });

describe('startFailure', () => {
  it.each([
    ['a file of the home', withCode('ENOSPC')],
    ['the user’s quota', withCode('EDQUOT')],
    ['a cause', didNotStart('nothing', withCode('ENOSPC'))],
    ['the database of the app-server', didNotStart('Error: (code: 13) database or disk is full')],
    ['a file of the app-server', didNotStart('Error: No space left on device (os error 28)')],
  ])('reports a full disk: %s', (_, error) => {
    expect(startFailure(error)).toEqual(FULL);
  });

  it.each([
    ['our spawn', didNotStart('spawn codex EMFILE', withCode('EMFILE'))],
    ['a file of the home', withCode('ENFILE')],
    ['the app-server', didNotStart('Error: Too many open files (os error 24)')],
  ])('reports a lack of descriptors: %s', (_, error) => {
    expect(startFailure(error)).toEqual(NO_ROOM);
  });

  it('repeats a failure meant for clients, and reports nothing about others', () => {
    const account = gatewayError('account_unavailable');
    expect([account, didNotStart('panicked'), 'text'].map(startFailure)).toEqual([
      account.failure,
      null,
      null,
    ]);
  });
});
