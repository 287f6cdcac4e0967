import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { hostOf, unreachable } from './unreachable.ts';

describe('an upstream that cannot be reached', () => {
  it.each([
    ['ECONNREFUSED', 'the connection was refused (ECONNREFUSED)'],
    ['ENOTFOUND', 'its host name does not exist (ENOTFOUND)'],
    ['UND_ERR_CONNECT_TIMEOUT', 'the connection timed out (UND_ERR_CONNECT_TIMEOUT)'],
    ['UND_ERR_SOCKET', 'the connection was closed (UND_ERR_SOCKET)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)'],
    ['HPE_INVALID', 'its answer is not HTTP (HPE_INVALID)'],
    ['ENEW', 'the connection failed (ENEW)'],
  ])('%s', (code, reason) => {
    expect(unreachable('api.example', code)).toEqual(
      failure('upstream_unreachable', {
        message: `The upstream at api.example could not be reached: ${reason}.`,
      }),
    );
  });

  it.each(['EMFILE', 'ENFILE'])(
    'is a resource failure if this process cannot open a connection: %s',
    (code) => {
      expect(unreachable('api.example', code)).toEqual(failure('out_of_resources', { retryAfterSeconds: 1 }));
    },
  );

  it('is described without a known reason or host', () => {
    expect(unreachable('api.example', null)).toEqual(
      failure('upstream_unreachable', { message: 'The upstream at api.example could not be reached.' }),
    );
    expect(unreachable('', null)).toEqual(failure('upstream_unreachable'));
  });

  it('is named without the rest of its URL', () => {
    expect(hostOf('https://user:secret@api.example:8443/path?key=secret')).toBe('api.example:8443');
    expect(hostOf('no address')).toBe('');
  });
});
