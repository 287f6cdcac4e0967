import { expect, it } from 'vitest';

import { machineTrust } from './machine-trust.ts';

it("uses our environment, or the system's certificate file", () => {
  expect(machineTrust({ SSL_CERT_FILE: '/own.pem', SSL_CERT_DIR: '/own' })).toEqual({
    SSL_CERT_FILE: '/own.pem',
    SSL_CERT_DIR: '/own',
  });
  expect(machineTrust({})).toEqual({ SSL_CERT_FILE: expect.stringMatching(/^$|^\/.*(?:crt|pem)$/) });
});
