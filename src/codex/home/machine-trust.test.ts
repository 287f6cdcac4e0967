import { expect, it } from 'vitest';

import { machineTrust } from './machine-trust.ts';

it('is what our environment says, or the file of the machine', () => {
  expect(machineTrust({ SSL_CERT_FILE: '/own.pem', SSL_CERT_DIR: '/own' })).toEqual({
    SSL_CERT_FILE: '/own.pem',
    SSL_CERT_DIR: '/own',
  });
  expect(machineTrust({})).toEqual({ SSL_CERT_FILE: expect.stringMatching(/^$|^\/.*(?:crt|pem)$/) });
});
