import { existsSync } from 'node:fs';

import type { Environment } from './environment.ts';

/** Paths of the system's certificate bundle. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/usr/local/etc/ssl/cert.pem',
];

/**
 * The certificate variables for a process started by the app-server. It would inherit the app-server's, which
 * may name a certificate that trusts nothing, and then reach no https server.
 */
export const machineTrust = (ours: Environment): Readonly<Record<string, string>> => {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: directory } = ours;
  return {
    // Most programs treat an empty name as unset.
    SSL_CERT_FILE: file ?? BUNDLES.find((bundle) => existsSync(bundle)) ?? '',
    ...(directory === undefined ? {} : { SSL_CERT_DIR: directory }),
  };
};
